import type { AttackList } from "#test/support/attempts.ts";
import { SMUGGLING } from "./smuggled.ts";

/** Every list, in the order in which the README's table tells of them. */
export const ATTACK_LISTS: readonly AttackList[] = [SMUGGLING];
