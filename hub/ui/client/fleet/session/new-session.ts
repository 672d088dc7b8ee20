import type { z } from "zod";
import type { EgressOption } from "#shared/protocol/egress.ts";
import { RESOLUTION } from "#shared/protocol/limits.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import type { CreateSession } from "#shared/protocol/schema/session.ts";
import { numberOf } from "../../forms/number-props.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { proxyBody } from "../options/way-out.ts";

/** The fields of the form; a number field that was emptied holds "". */
export interface NewSession {
  url: string;
  use_profile: string;
  headless: boolean;
  worker_id: string;
  idle_ttl_s: number | string;
  ttl_s: number | string;
  viewport: { width: number | string; height: number | string };
  egress: EgressOption | null;
  proxy: ProxyOption | null;
  record: RecordMode | null;
}

/** Of POST /sessions (rules/sessions#open-a-session). */
export const RULES = rulesOf("CreateSession");

/** As those of POST /sessions. */
export const DEFAULTS: NewSession = {
  url: "",
  use_profile: "",
  headless: RULES.headless.default === true,
  worker_id: "",
  idle_ttl_s: Number(RULES.idle_ttl_s.default),
  ttl_s: Number(RULES.ttl_s.default),
  viewport: { width: "", height: "" },
  egress: null,
  proxy: null,
  record: null,
};

/** Body of POST /sessions: what differs from the defaults. */
export function bodyOf(values: NewSession): z.input<typeof CreateSession> {
  const { url, use_profile, headless, worker_id, idle_ttl_s, ttl_s } = values;
  const { egress, proxy, record } = values;
  const { width, height } = values.viewport;
  return {
    ...(url.trim() !== "" && { url: withScheme(url.trim()) }),
    ...(use_profile !== "" && { use_profile }),
    ...(headless && { headless }),
    ...(worker_id !== "" && { worker_id }),
    ...(idle_ttl_s !== DEFAULTS.idle_ttl_s && { idle_ttl_s: numberOf(idle_ttl_s) }),
    ...(ttl_s !== DEFAULTS.ttl_s && { ttl_s: numberOf(ttl_s) }),
    ...(egress && { egress }),
    ...(proxy && { proxy: proxyBody(proxy) }),
    ...(record && { record }),
    ...((width !== "" || height !== "") && {
      viewport: {
        width: numberOf(width) ?? RESOLUTION.width,
        height: numberOf(height) ?? RESOLUTION.height,
      },
    }),
  };
}

/** People leave out the scheme; servers on their own machine have no certificate. */
export function withScheme(address: string): string {
  const is_host_and_port = /^[^/]+:\d+(\/|$)/.test(address);
  if (/^[a-z][a-z0-9+.-]*:/i.test(address) && !is_host_and_port) return address;
  return `${/^(localhost|127\.)/i.test(address) ? "http" : "https"}://${address}`;
}
