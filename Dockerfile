# syntax=docker/dockerfile:1
# One image for every process of the desk: `web` (the default), `worker`, `seed`, `demo-model`.
# It carries the program and its locked dependencies alone: no embedded services, no tests, no compiler.

FROM python:3.11-slim AS dependencies
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/venv
COPY requirements.lock /tmp/requirements.lock
RUN /opt/venv/bin/pip install --require-hashes --only-binary=:all: -r /tmp/requirements.lock

FROM python:3.11-slim
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOST=0.0.0.0 PORT=8000 DESK_DIR=/var/lib/desk
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin desk \
    && install --directory --owner=desk --group=desk --mode=700 /var/lib/desk
COPY --from=dependencies /opt/venv /opt/venv
WORKDIR /srv/desk
COPY app app
COPY worker worker
COPY templates templates
COPY static static
RUN python -m compileall -q app worker
USER desk
EXPOSE 8000
# For the web process; the other services of the compose files bring their own or none.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/health', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["python", "-m", "app.cli"]
CMD ["web"]
