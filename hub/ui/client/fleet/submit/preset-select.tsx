import { Select } from "@mantine/core";
import type { Preset } from "#shared/protocol/schema/preset.ts";
import { FieldHelp } from "../../parts/field-help.tsx";

interface PresetSelectProps {
  presets: readonly Preset[];
  value: string | null;
  error?: string;
  onChange: (slug: string | null) => void;
}

/** A stored set of options; those of the form take precedence. */
export function PresetSelect({ presets, value, error, onChange }: PresetSelectProps) {
  const chosen = presets.find(({ slug }) => slug === value);
  const choices = presets.map(({ slug, name }) => ({
    value: slug,
    label: name && name !== slug ? `${name} (${slug})` : slug,
  }));
  const known = value === null || chosen !== undefined;
  return (
    <Select
      label="Preset"
      description={
        <FieldHelp of="SubmitJob" field="preset">
          {chosen?.description || "Options under one name. What is set below takes precedence."}
        </FieldHelp>
      }
      placeholder={presets.length === 0 ? "There are no presets yet" : "None"}
      data={known ? choices : [...choices, { value, label: `${value} (not there)` }]}
      value={value}
      error={error}
      clearable
      clearButtonProps={{ "aria-label": "Clear the preset" }}
      searchable={presets.length > 8}
      onChange={onChange}
    />
  );
}
