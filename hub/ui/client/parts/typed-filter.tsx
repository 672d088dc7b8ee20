import { TextInput, type TextInputProps } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { type ReactNode, useState } from "react";

const TYPING_MS = 250;

interface TypedFilterProps extends Pick<TextInputProps, "size" | "w" | "placeholder" | "style"> {
  label: string;
  value: string;
  onChange: (text: string) => void;
  icon?: ReactNode;
  /** The key for the filter of a page leads here. */
  filter?: boolean;
}

/** A text that filters when typing pauses; a change in the address resets it. */
export function TypedFilter({ value, onChange, icon, filter, ...look }: TypedFilterProps) {
  const [text, setText] = useState(value);
  const [seen, setSeen] = useState(value);
  const tell = useDebouncedCallback((next: string) => {
    setSeen(next);
    onChange(next);
  }, TYPING_MS);
  if (value !== seen) {
    setSeen(value);
    setText(value);
  }
  return (
    <TextInput
      {...look}
      leftSection={icon}
      value={text}
      data-filter={filter || undefined}
      onChange={(event) => {
        setText(event.currentTarget.value);
        tell(event.currentTarget.value.trim());
      }}
    />
  );
}
