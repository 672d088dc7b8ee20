import { TextInput, type TextInputProps } from "@mantine/core";
import { momentOf, momentText } from "../lib/moments.ts";

export interface MomentFieldProps extends Pick<TextInputProps, "label" | "size" | "w"> {
  /** As the address and the API have it; nothing for none. */
  value: string;
  onChange: (moment: string) => void;
}

/** A moment to the minute, in this browser's time zone. */
export const MomentField = ({ value, onChange, ...look }: MomentFieldProps) => (
  <TextInput
    {...look}
    type="datetime-local"
    value={momentText(value)}
    onChange={(event) => onChange(momentOf(event.currentTarget.value))}
  />
);
