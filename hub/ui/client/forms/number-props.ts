import type { NumberInputProps } from "@mantine/core";
import type { FieldRules } from "./rules.ts";

/** A number's bounds for its field. A value that is out of them stays as it was typed, and the field says what is wrong. */
export const numberProps = ({ min, max, integer }: FieldRules): Partial<NumberInputProps> => ({
  clampBehavior: "none",
  min,
  max,
  allowDecimal: integer !== true,
});

/** What a field for numbers holds, for a body: nothing when it is empty. */
export const numberOf = (value: number | string): number | undefined =>
  value === "" ? undefined : Number(value);
