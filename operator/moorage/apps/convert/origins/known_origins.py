"""The origins that `moorage convert --from` takes."""

from __future__ import annotations

from moorage.apps.convert.origins.aks import AKS
from moorage.apps.convert.origins.eks import EKS
from moorage.apps.convert.origins.origin import Origin
from moorage.apps.convert.origins.volcano import VOLCANO
from moorage.apps.convert.origins.yunikorn import YUNIKORN

KUBE_SCHEDULER = "kube-scheduler"
ORIGINS: dict[str, Origin] = {
    "eks": EKS,
    "aks": AKS,
    "volcano": VOLCANO,
    "yunikorn": YUNIKORN,
}
