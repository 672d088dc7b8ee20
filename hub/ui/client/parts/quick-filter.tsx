import { TextInput } from "@mantine/core";

interface QuickFilterProps {
  label: string;
  /** In the empty field. */
  placeholder?: string;
  value: string;
  onChange: (text: string) => void;
}

/** The filter of a short list: it narrows with every letter, and the key for the filter of a page leads to it. */
export const QuickFilter = ({
  label,
  placeholder = "Filter",
  value,
  onChange,
}: QuickFilterProps) => (
  <TextInput
    size="xs"
    w={220}
    aria-label={label}
    placeholder={placeholder}
    data-filter
    value={value}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
);
