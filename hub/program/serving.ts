import type { PipelineContext } from "#hub/pipeline/context.ts";
import type { HubConfig } from "#hub/platform/config.ts";
import { type HttpServer, listen } from "#hub/platform/http/listen.ts";
import type { App } from "#hub/platform/http/new-app.ts";
import { watchCertificate } from "#hub/platform/http/serve-tls.ts";
import type { Scope } from "#shared/kit/scope.ts";
import type { RunningHub, ServeDeps } from "./hub-deps.ts";

const largestBody = (config: HubConfig) =>
  Math.max(config.max_asset_bytes, config.max_profile_bytes);

/** A server that rereads its certificate's files on request and by itself. */
export interface Serving extends HttpServer {
  look(): void;
}

/** Listens, and watches the certificate's files if it has one. */
export function serve({ config, clock, log, tls }: ServeDeps, app: App, scope: Scope): Serving {
  const server = listen(app, { ...config, tls, max_body_bytes: largestBody(config) }, log);
  if (config.tls === null || tls === null) return { ...server, look: () => {} };
  const watch = watchCertificate({ files: config.tls, loaded: tls, server, clock, log });
  scope.add("certificate", watch, (w) => w.stop());
  return { ...server, look: () => void watch.look() };
}

export const running = (
  { config, tls }: ServeDeps,
  {
    operations: { new_password },
    tokens,
    logins,
  }: Pick<PipelineContext, "operations" | "tokens" | "logins">,
  { port, look }: Serving,
  scope: Scope,
): RunningHub => {
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  return {
    url: `${config.tls ? "https" : "http"}://${host}:${port}`,
    port,
    certificate: tls?.certificate ?? null,
    new_password,
    asksForToken: () => config.api_token !== null || tokens.exist,
    newLoginCode: logins.newCode,
    own_token: tokens.own,
    reload: look,
    stop: () => scope.close(),
  };
};
