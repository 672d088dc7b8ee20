import { z } from "zod";
import { classifyAddress } from "#shared/kit/addresses.ts";
import { EGRESS_MODES, EgressMode, type EgressOption } from "./egress.ts";
import { bareHost, type EgressRule, parseEgressRule } from "./egress-rules.ts";

/** What a worker lets its lanes connect to, as it reports to its hub. */
export const EgressReport = z.object({
  mode: EgressMode,
  allow: z.array(z.string().max(300)).max(1_000),
  deny: z.array(z.string().max(300)).max(1_000),
  /** SVC_NAVIGATION_BLOCK. */
  block: z.array(z.enum(["loopback", "private"])),
});
export type EgressReport = z.infer<typeof EgressReport>;

/** From the narrowest to the widest. */
const WIDTH = [...EGRESS_MODES].reverse();

const portsWithin = (inner: EgressRule["ports"], outer: EgressRule["ports"]): boolean =>
  outer === null || (inner !== null && inner[0] >= outer[0] && inner[1] <= outer[1]);

/** Whether `outer` covers everything that `inner` covers. */
function isWithin(inner: EgressRule, inner_text: string, outer: EgressRule): boolean {
  if (!portsWithin(inner.ports, outer.ports)) return false;
  if (outer.kind === "host")
    // A glob is itself a text that the wider glob matches.
    return (
      inner.kind === "host" && outer.pattern.test(bareHost(inner_text.replace(/:[\d-]+$/, "")))
    );
  if (inner.kind !== "range" || inner.family !== outer.family || inner.prefix < outer.prefix)
    return false;
  const shift = BigInt((outer.family === 4 ? 32 : 128) - outer.prefix);
  return inner.bits >> shift === outer.bits >> shift;
}

/** The class of all addresses in a range; null if it has several, or is a name. */
function classOf(text: string, rule: EgressRule): ReturnType<typeof classifyAddress> {
  if (rule.kind !== "range") return null;
  const [address = ""] = text.replace(/^\[([^\]]+)\].*$/, "$1").split("/");
  const bare = rule.family === 4 ? address.replace(/:[\d-]+$/, "") : address;
  // No private range of IPv4 is shorter than its eight bits, nor one of IPv6 than its seven.
  return rule.prefix < 7 ? null : classifyAddress(bare);
}

/**
 * Why a worker with these rules would not let a lane connect to what the option asks for, as a phrase that follows the
 * worker's name; null when it would. What host names resolve to is unknown here, so they are left to the gate.
 */
export function widerThan(worker: EgressReport, asked: EgressOption): string | null {
  const all_blocked = worker.block.includes("loopback") && worker.block.includes("private");
  const has = worker.mode === "open" && all_blocked ? "public" : worker.mode;
  if (asked.mode !== null && WIDTH.indexOf(asked.mode) > WIDTH.indexOf(has))
    return `is in egress mode ${has}, but ${asked.mode} is requested`;
  const read = (texts: readonly string[]) =>
    texts
      .map((text) => [text, parseEgressRule(text)] as const)
      .filter(([, rule]) => rule !== null) as [string, EgressRule][];
  const [allow, deny] = [read(worker.allow), read(worker.deny)];
  for (const [text, rule] of read(asked.allow)) {
    if (deny.some(([, outer]) => isWithin(rule, text, outer))) return `denies ${text}`;
    if (allow.some(([, outer]) => isWithin(rule, text, outer))) continue;
    if (worker.mode === "listed") return `does not allow ${text}`;
    const kind = classOf(text, rule);
    const is_local = kind === "loopback" || kind === "private";
    if (is_local && (worker.mode === "public" || worker.block.includes(kind)))
      return `does not allow ${text}`;
  }
  return null;
}
