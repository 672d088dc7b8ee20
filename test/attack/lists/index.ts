import type { AttackList } from "#test/support/attempts.ts";
import { CDP } from "./cdp.ts";
import { HEADERS, NAMES, TEXTS } from "./hostile-answers.ts";
import { IN_BODIES } from "./hostile-bodies.ts";
import { IN_PATHS, IN_QUERIES } from "./hostile-names.ts";
import {
  LANE_TO_HUB_HOSTS,
  LANE_TO_HUB_PORTS,
  LANE_TO_HUB_STEERED,
  LANE_TO_HUB_WAYS,
} from "./lane-to-hub.ts";
import { FRAMES, SLOW } from "./slow-clients.ts";
import { SMUGGLING } from "./smuggled.ts";
import { SYSTEM_CALLS } from "./system-calls.ts";

/** Every list, in the order in which the README's table tells of them. */
export const ATTACK_LISTS: readonly AttackList[] = [
  LANE_TO_HUB_HOSTS,
  LANE_TO_HUB_WAYS,
  LANE_TO_HUB_PORTS,
  LANE_TO_HUB_STEERED,
  CDP,
  IN_PATHS,
  IN_QUERIES,
  IN_BODIES,
  TEXTS,
  NAMES,
  HEADERS,
  SMUGGLING,
  SYSTEM_CALLS,
  SLOW,
  FRAMES,
];
