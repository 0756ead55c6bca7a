# regard serve. Build: docker build -t regard .
# Run: docker run --rm -p 8766:8766 -v "$PWD/runs/a:/models/a:ro" -e REGARD_API_KEY regard /models/a
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY release ./release
COPY src ./src
# TORCH_INDEX names an index of torch for a CPU, which is a tenth of the size, or for a certain GPU.
ARG TORCH_INDEX=""
RUN pip install ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} -c constraints.txt torch \
 && pip install -c constraints.txt '.[serve]' \
 && useradd --create-home --uid 10001 regard

USER regard
WORKDIR /models
EXPOSE 8766
# What a container is asked from outside must listen there; without a key `regard serve` refuses to.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8766/ready', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["regard", "serve", "--host", "0.0.0.0", "--port", "8766", "--device", "cpu"]
