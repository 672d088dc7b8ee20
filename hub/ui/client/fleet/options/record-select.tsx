import { Select } from "@mantine/core";
import type { ReactNode } from "react";
import type { RecordMode } from "#shared/protocol/schema/record-mode.ts";

const CHOICES: Record<RecordMode, string> = {
  off: "Nothing",
  events: "What happened",
  screen: "What happened, and the screen",
};

interface RecordSelectProps {
  description: ReactNode;
  /** What null stands for, in words. */
  otherwise: string;
  value: RecordMode | null;
  error: string | undefined;
  onChange: (next: RecordMode | null) => void;
}

/** What is recorded of runs (rules/recordings#what-is-recorded). */
export function RecordSelect({ otherwise, value, onChange, ...field }: RecordSelectProps) {
  return (
    <Select
      label="Recording"
      {...field}
      data={Object.entries({ "": otherwise, ...CHOICES }).map(([one, label]) => ({
        value: one,
        label,
      }))}
      allowDeselect={false}
      value={value ?? ""}
      onChange={(next) => onChange((next || null) as RecordMode | null)}
    />
  );
}
