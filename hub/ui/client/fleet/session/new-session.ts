import type { z } from "zod";
import type { CreateSession } from "#shared/protocol/schema/session.ts";
import { NO_WAY_OUT, type WayOutValues, wayOutOf } from "../options/way-out.ts";

/** The fields of the form; a number field that was emptied holds "". */
export interface NewSession extends WayOutValues {
  url: string;
  use_profile: string;
  headless: boolean;
  worker_id: string;
  idle_ttl_s: number | string;
  ttl_s: number | string;
  width: number | string;
  height: number | string;
}

/** As those of POST /sessions (rules/sessions#open-a-session). */
export const DEFAULTS: NewSession = {
  url: "",
  use_profile: "",
  headless: false,
  worker_id: "",
  idle_ttl_s: 300,
  ttl_s: 14_400,
  width: "",
  height: "",
  ...NO_WAY_OUT,
};

/** Body of POST /sessions: what differs from the defaults. */
export function bodyOf(values: NewSession): z.input<typeof CreateSession> {
  const { url, use_profile, headless, worker_id, idle_ttl_s, ttl_s, width, height } = values;
  const number = (value: number | string) => (value === "" ? undefined : Number(value));
  return {
    ...(url.trim() !== "" && { url: withScheme(url.trim()) }),
    ...(use_profile !== "" && { use_profile }),
    ...(headless && { headless }),
    ...(worker_id !== "" && { worker_id }),
    ...(idle_ttl_s !== DEFAULTS.idle_ttl_s && { idle_ttl_s: number(idle_ttl_s) }),
    ...(ttl_s !== DEFAULTS.ttl_s && { ttl_s: number(ttl_s) }),
    ...wayOutOf(values),
    ...((width !== "" || height !== "") && {
      viewport: { width: Number(width || 1_920), height: Number(height || 1_080) },
    }),
  };
}

/** People leave out the scheme; servers on their own machine have no certificate. */
export function withScheme(address: string): string {
  const is_host_and_port = /^[^/]+:\d+(\/|$)/.test(address);
  if (/^[a-z][a-z0-9+.-]*:/i.test(address) && !is_host_and_port) return address;
  return `${/^(localhost|127\.)/i.test(address) ? "http" : "https"}://${address}`;
}
