import type { z } from "zod";
import { isNestedDeeper, NESTED_DEEPER } from "#shared/kit/json.ts";

/** What arrived on the link: a message, a type this version does not know (skip it), or garbage (close 1008). */
export type Decoded<T> =
  | { kind: "message"; message: T }
  | { kind: "unknown"; type: string }
  | { kind: "bad"; reason: string };

interface Union<T> {
  options: readonly { shape: { type: { value: string } } }[];
  safeParse(input: unknown): { success: true; data: T } | { success: false; error: z.ZodError };
}

/** Builds a decoder for one of the unions of `messages.ts`. */
export function decoderOf<T>(union: Union<T>): (frame: string) => Decoded<T> {
  const known = new Set(union.options.map((o) => o.shape.type.value));
  return (frame) => {
    if (isNestedDeeper(frame)) return { kind: "bad", reason: `a frame ${NESTED_DEEPER}` };
    let raw: unknown;
    try {
      raw = JSON.parse(frame);
    } catch {
      return { kind: "bad", reason: "not JSON" };
    }
    const type = (raw as { type?: unknown } | null)?.type;
    if (typeof type !== "string") return { kind: "bad", reason: "no type" };
    if (!known.has(type)) return { kind: "unknown", type };
    const parsed = union.safeParse(raw);
    if (parsed.success) return { kind: "message", message: parsed.data };
    const issue = parsed.error.issues[0];
    return { kind: "bad", reason: `${type}.${issue?.path.join(".")}: ${issue?.message}` };
  };
}
