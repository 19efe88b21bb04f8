"""Api is what users write and read: custom resources, conditions, the operator's configuration, as
pydantic models.

Called by engine, handlers and apps to parse, check and print. It turns what people wrote into what
core understands and says what is wrong by field path. It talks to nothing: no Kopf, no client, no
event loop.
"""
