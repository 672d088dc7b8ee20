import type { z } from "zod";
import type { EgressOption } from "#shared/protocol/egress.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import type { ReplayClock } from "#shared/protocol/schema/replay.ts";
import type { CreateSession } from "#shared/protocol/schema/session.ts";
import { numberOf } from "../../forms/number-props.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { addressOf } from "../../lib/address.ts";
import type { Options } from "../options/fields.ts";
import { optionsBody } from "../options/values.ts";
import { proxyBody } from "../options/way-out.ts";

/** The hub waits 8 s for a lane, and then the page may take its minute to load. */
export const OPEN_MS = 80_000;

/** The fields of the form; a number field that was emptied holds "". */
export interface NewSession {
  url: string;
  use_profile: string;
  headless: boolean;
  worker_id: string;
  idle_ttl_s: number | string;
  ttl_s: number | string;
  /** What is said of its browser. */
  browser: Options;
  egress: EgressOption | null;
  proxy: ProxyOption | null;
  record: RecordMode | null;
  replay: string;
  replay_clock: ReplayClock;
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
  browser: {},
  egress: null,
  proxy: null,
  record: null,
  replay: "",
  replay_clock: "now",
};

/** Body of POST /sessions: what differs from the defaults. */
export function bodyOf(values: NewSession): z.input<typeof CreateSession> {
  const { url, use_profile, headless, worker_id, idle_ttl_s, ttl_s } = values;
  const { egress, proxy, record, replay_clock } = values;
  const replay = values.replay.trim();
  return {
    ...optionsBody(values.browser),
    ...(url.trim() !== "" && { url: addressOf(url) }),
    ...(use_profile !== "" && { use_profile }),
    ...(headless && { headless }),
    ...(worker_id !== "" && { worker_id }),
    ...(idle_ttl_s !== DEFAULTS.idle_ttl_s && { idle_ttl_s: numberOf(idle_ttl_s) }),
    ...(ttl_s !== DEFAULTS.ttl_s && { ttl_s: numberOf(ttl_s) }),
    ...(egress && { egress }),
    ...(proxy && { proxy: proxyBody(proxy) }),
    ...(record && { record }),
    ...(replay !== "" && { replay }),
    ...(replay_clock !== DEFAULTS.replay_clock && { replay_clock }),
  };
}
