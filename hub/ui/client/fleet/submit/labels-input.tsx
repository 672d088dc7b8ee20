import { TagsInput } from "@mantine/core";
import { FieldHelp } from "../../parts/field-help.tsx";

interface LabelsInputProps {
  /** `key:value` each. */
  value: string[];
  error?: string;
  onChange: (written: string[]) => void;
}

/** Labels of a capture that is to be made. */
export const LabelsInput = ({ value, error, onChange }: LabelsInputProps) => (
  <TagsInput
    label="Labels"
    description={
      <FieldHelp of="SubmitJob" field="labels">
        Words of your own to find the capture by, such as team:growth. Enter adds one.
      </FieldHelp>
    }
    placeholder={value.length === 0 ? "key:value" : ""}
    // A value may have commas.
    splitChars={[]}
    value={value}
    error={error}
    onChange={onChange}
  />
);
