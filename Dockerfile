# Name a digest to build from the same base again: --build-arg BASE=python:3.11-slim@sha256:...
# linux/amd64 and linux/arm64: docker buildx build --platform linux/amd64,linux/arm64 .
ARG BASE=python:3.11-slim

# The builder holds build tools and caches; nothing but the finished virtual environment leaves it.
FROM ${BASE} AS builder
# The time that files have which are made here: the same source gives the same image.
ARG SOURCE_DATE_EPOCH=315532800
WORKDIR /src

# The build backend, in an environment that stays here. So does pip: what runs has none.
COPY requirements/build.txt requirements/run.txt requirements/
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt
RUN python -m venv --without-pip /opt/moorage \
    && /opt/build/bin/pip --python /opt/moorage/bin/python install --no-cache-dir --no-compile --require-hashes -r requirements/run.txt

COPY LICENSE README.md pyproject.toml ./
COPY crds/ crds/
COPY manifests/samples/ manifests/samples/
COPY operator/ operator/
COPY packages/ packages/
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist packages/kubefacts packages/towtank . \
    && /opt/build/bin/pip --python /opt/moorage/bin/python install --no-cache-dir --no-compile --no-deps --no-index dist/*.whl
# Tests of libraries are left out. Bytecode knows its source by content and never looks at times: nobody can write here.
RUN find /opt/moorage/lib -type d -name tests -prune -exec rm -rf {} + \
    && python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/moorage/lib

FROM ${BASE}
ARG BASE
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="moorage" \
      org.opencontainers.image.description="A Kubernetes scheduler whose profiles and plugins are custom resources" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${BASE}"
COPY --from=builder /opt/moorage /opt/moorage
# HOME, since nobody has one, and libraries ask for it.
ENV PATH=/opt/moorage/bin:$PATH HOME=/ PYTHONDONTWRITEBYTECODE=1
# A number, so that the kubelet can tell that it is not root (runAsNonRoot). Nothing is written: the root may be read-only.
USER 65532:65532
ENTRYPOINT ["python", "-I", "-m", "moorage"]
CMD ["run"]
