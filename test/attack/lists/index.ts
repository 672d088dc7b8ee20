import type { AttackList } from "#test/support/rigs/attempts.ts";
import { ASSET_TYPES } from "./asset-types.ts";
import { HOSTS, ORIGINS } from "./callers.ts";
import { CDP } from "./cdp.ts";
import { DEEP_JSON } from "./deep-json.ts";
import { PAGE_TO_HUB, PAGE_TO_METADATA, PAGE_TO_NEIGHBOUR } from "./egress.ts";
import { EXTENSIONS } from "./extensions.ts";
import { FLOODS } from "./floods.ts";
import { HEADERS, NAMES, TEXTS } from "./hostile-answers.ts";
import { IN_BODIES } from "./hostile-bodies.ts";
import { IN_PATHS, IN_QUERIES } from "./hostile-names.ts";
import { PAGE_ASKS, PAGE_SCHEMES } from "./lane-page.ts";
import {
  LANE_TO_HUB_HOSTS,
  LANE_TO_HUB_PORTS,
  LANE_TO_HUB_STEERED,
  LANE_TO_HUB_WAYS,
} from "./lane-to-hub.ts";
import { FRAMES, SLOW } from "./slow-clients.ts";
import { SMUGGLING } from "./smuggled.ts";
import { SYSTEM_CALLS } from "./system-calls.ts";
import { VISITS } from "./visits.ts";
import { WEBDRIVER } from "./webdriver.ts";

/** Every list, in the order in which the guide's table tells of them. */
export const ATTACK_LISTS: readonly AttackList[] = [
  LANE_TO_HUB_HOSTS,
  LANE_TO_HUB_WAYS,
  LANE_TO_HUB_PORTS,
  LANE_TO_HUB_STEERED,
  PAGE_TO_HUB,
  PAGE_TO_NEIGHBOUR,
  PAGE_TO_METADATA,
  PAGE_SCHEMES,
  PAGE_ASKS,
  EXTENSIONS,
  FLOODS,
  CDP,
  WEBDRIVER,
  HOSTS,
  ORIGINS,
  VISITS,
  IN_PATHS,
  IN_QUERIES,
  IN_BODIES,
  DEEP_JSON,
  ASSET_TYPES,
  TEXTS,
  NAMES,
  HEADERS,
  SMUGGLING,
  SYSTEM_CALLS,
  SLOW,
  FRAMES,
];
