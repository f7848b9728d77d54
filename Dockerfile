FROM python:3.11.16-slim-bookworm@sha256:0bee7276f83efd4a1ee05bbbf4281d95ed28e079220a9457f25a93e3f1e3c31b AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /build
RUN python -m venv /opt/ratings
COPY requirements.lock requirements-build.lock ./
RUN pip install --require-hashes -r requirements-build.lock \
    && /opt/ratings/bin/pip install --require-hashes -r requirements.lock
COPY pyproject.toml README.md ./
COPY schemas schemas
COPY deploy/pools.toml deploy/pools.toml
COPY deploy/kafka/topics.toml deploy/kafka/topics.toml
COPY worker worker
RUN pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && /opt/ratings/bin/pip install --no-deps dist/*.whl

FROM python:3.11.16-slim-bookworm@sha256:0bee7276f83efd4a1ee05bbbf4281d95ed28e079220a9457f25a93e3f1e3c31b

RUN useradd --system --uid 10001 --create-home ratings
COPY --from=build /opt/ratings /opt/ratings
COPY --chmod=755 deploy/compose/run-worker /usr/local/bin/run-worker
ENV PATH=/opt/ratings/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
WORKDIR /home/ratings
EXPOSE 8080
ENTRYPOINT ["gammon-ratings"]
CMD ["worker"]
