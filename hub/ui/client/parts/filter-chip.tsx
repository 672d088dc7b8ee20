import { Menu, Popover } from "@mantine/core";
import { IconCheck, IconChevronDown, IconX } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";

interface Choice {
  value: string;
  label: string;
}

function Clear({ label, onClear }: { label: string; onClear: () => void }) {
  return (
    <button type="button" aria-label={`Clear ${label}`} onClick={onClear}>
      <IconX size={14} aria-hidden />
    </button>
  );
}

/** What a chip says: its name, and its value once it has one. */
const Said = ({ label, said }: { label: string; said: string | null }) => (
  <>
    <span className="clip">{said === null ? label : `${label}: ${said}`}</span>
    {said === null && <IconChevronDown size={14} aria-hidden />}
  </>
);

interface FilterChipProps {
  label: string;
  value: string;
  choices: readonly Choice[];
  onChange: (value: string) => void;
}

/** A filter with a value of several; empty is none. */
export function FilterChip({ label, value, choices, onChange }: FilterChipProps) {
  const said = choices.find((one) => one.value === value)?.label ?? (value === "" ? null : value);
  return (
    <span className="filter-chip" data-set={said !== null || undefined}>
      <Menu position="bottom-start" withinPortal>
        <Menu.Target>
          <button type="button">
            <Said label={label} said={said} />
          </button>
        </Menu.Target>
        <Menu.Dropdown mah={340} className="filter-choices">
          {choices.map((one) => (
            <Menu.Item
              key={one.value}
              aria-current={one.value === value || undefined}
              rightSection={one.value === value && <IconCheck size={14} aria-hidden />}
              onClick={() => onChange(one.value)}
            >
              {one.label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {said !== null && <Clear label={label} onClear={() => onChange("")} />}
    </span>
  );
}

interface FilterFieldChipProps {
  label: string;
  /** What it is set to, in words; null while it is not. */
  said: string | null;
  onClear: () => void;
  /** The field that sets it. */
  children: ReactNode;
}

/** A filter that is typed: a text, a time. */
export function FilterFieldChip({ label, said, onClear, children }: FilterFieldChipProps) {
  const [open, setOpen] = useState(false);
  return (
    <span className="filter-chip" data-set={said !== null || undefined}>
      <Popover opened={open} onChange={setOpen} position="bottom-start" trapFocus withinPortal>
        <Popover.Target>
          <button type="button" onClick={() => setOpen(!open)}>
            <Said label={label} said={said} />
          </button>
        </Popover.Target>
        <Popover.Dropdown aria-label={label}>{children}</Popover.Dropdown>
      </Popover>
      {said !== null && <Clear label={label} onClear={onClear} />}
    </span>
  );
}
