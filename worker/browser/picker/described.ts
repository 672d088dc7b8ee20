import { z } from "zod";
import {
  type ElementSelector,
  MAX_BOXES,
  type PickBox,
  SELECTOR_KINDS,
} from "#shared/protocol/schema/recorded-input.ts";

const size = z.number().min(-1_000_000).max(1_000_000).catch(0);
const Box = z.object({ x: size, y: size, width: size, height: size });
/** A page's words, cut: what has none says nothing. */
export const short = z
  .string()
  .transform((text) => text.slice(0, 200))
  .catch("");

/** What code in a page says of an element, whoever asks: its words are the page's. */
export const ElementWords = z.object({
  tag: short,
  role: short.nullable(),
  name: short,
  type: short.nullable(),
  secret: z.boolean(),
});
/** A selector that such code has found. */
export const FoundSelector = z.object({
  by: z.enum(SELECTOR_KINDS),
  selector: z.string().min(1).max(4_096),
  matches: z.int().min(1),
});
export const MOST_SELECTORS = 20;

/** An element as the picker's code in a page describes it: its words and sizes are the page's. */
export const Described = ElementWords.extend({
  box: Box,
  selectors: z
    .array(FoundSelector.extend({ boxes: z.array(Box).max(MAX_BOXES) }))
    .max(MOST_SELECTORS),
});
export type Described = z.infer<typeof Described>;

/**
 * The selectors in the order in which to use them (rules/recorded-input#selectors-of-an-element): those that name one element
 * alone come first, and of these the ones that outlive a new design of the page.
 */
export function rankSelectors<S extends ElementSelector>(selectors: readonly S[]): S[] {
  const place = ({ by }: S) => SELECTOR_KINDS.indexOf(by);
  const seen = new Set<string>();
  return selectors
    .filter(({ selector }) => !seen.has(selector) && seen.add(selector))
    .sort((a, b) => Number(a.matches !== 1) - Number(b.matches !== 1) || place(a) - place(b));
}

export const moved = (box: PickBox, by: { x: number; y: number }): PickBox => ({
  ...box,
  x: box.x + by.x,
  y: box.y + by.y,
});
