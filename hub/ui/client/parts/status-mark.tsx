import { memo } from "react";
import { type Look, lookOf } from "./status/look.ts";

// Plain elements, none of the library: these stand in every row of every table.

interface StatusMarkProps {
  look: Look;
  /** On its soft ground, as in heads; rows have it plain. */
  chip?: boolean;
  /** More about it, on hover. */
  title?: string | undefined;
  /** Name of the state in the API. */
  value?: string;
}

/** A state: its icon and its word. */
export const StatusMark = memo(({ look, chip = false, title, value }: StatusMarkProps) => (
  <span
    className="state"
    data-tone={look.tone}
    data-chip={chip || undefined}
    data-status={value}
    title={title ?? look.word}
  >
    <look.icon size={15} stroke={2} aria-hidden />
    <span className="state-word">{look.word}</span>
  </span>
));

interface StatusProps {
  value: string;
  /** What it says in place of the usual word. */
  word?: string;
  chip?: boolean;
  title?: string | undefined;
}

/** A state that its name in the API says all about. */
export function Status({ value, word, chip, title }: StatusProps) {
  const usual = lookOf(value);
  const look = word === undefined ? usual : { word, tone: usual.tone, icon: usual.icon };
  return <StatusMark look={look} chip={chip ?? false} title={title} value={value} />;
}
