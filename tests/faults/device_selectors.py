"""A claim whose CEL selector is dear (strings that grow, nested loops): pods of another profile
wait meanwhile.

Upstream ends such a selector at its run-time cost limit.
"""

from tests.faults.load import cel_claims, disturbed

ATTRIBUTE = "device.attributes['drv.example']"
ONE_TO_TEN = "[1,2,3,4,5,6,7,8,9,10]"
GROW = f"{ATTRIBUTE}.s.replace('x','{'y' * 500}').replace('y','{'z' * 500}').size() < 0"
LOOP = (
    f"{ONE_TO_TEN}.all(a,{ONE_TO_TEN}.all(b,{ONE_TO_TEN}.all(c,{ONE_TO_TEN}.all(d,a+b+c+d>0)))) "
    f"&& {ATTRIBUTE}.b > 1000"
)

disturbed(cel_claims({"grow": GROW, "loop": LOOP}), seconds=35, nodes=100)
