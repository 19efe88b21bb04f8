# Name a digest to build from the same base again: --build-arg BASE=python:3.11-slim@sha256:...
ARG BASE=python:3.11-slim

# The builder holds build tools and caches; nothing but the finished virtual environment leaves it.
FROM ${BASE} AS builder
WORKDIR /src

# The build backend comes pinned with dev.txt, in an environment that stays here.
COPY requirements/ requirements/
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements/dev.txt
RUN python -m venv /opt/moorage \
    && /opt/moorage/bin/pip install --no-cache-dir --require-hashes -r requirements/run.txt

COPY LICENSE README.md pyproject.toml ./
COPY crds/ crds/
COPY operator/ operator/
COPY packages/ packages/
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist packages/kubefacts packages/towtank . \
    && /opt/moorage/bin/pip install --no-cache-dir --no-deps --no-index dist/*.whl

FROM ${BASE}
COPY --from=builder /opt/moorage /opt/moorage
ENV PATH=/opt/moorage/bin:$PATH
# A number, so that the kubelet can tell that it is not root (runAsNonRoot).
USER 65532:65532
ENTRYPOINT ["python", "-I", "-m", "moorage"]
CMD ["run"]
