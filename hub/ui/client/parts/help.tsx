import { ActionIcon, Anchor, Popover, Text } from "@mantine/core";
import { IconHelp } from "@tabler/icons-react";
import type { ReactNode } from "react";

interface HelpProps {
  /** What it is about, for screen readers: the field's name. */
  about: string;
  /** The sentence of the rule. */
  children: ReactNode;
  /** Page of the guide, with its heading: `/guide/rules/job-options#the-options`. */
  guide?: string;
}

/** A small "?" beside a field: what the guide says of it, and where it says more. */
export function Help({ about, children, guide }: HelpProps) {
  return (
    <Popover width={320} position="top-start" withinPortal shadow="md">
      <Popover.Target>
        <ActionIcon
          size="xs"
          variant="transparent"
          color="gray"
          className="help"
          aria-label={`Help on ${about}`}
        >
          <IconHelp size={14} stroke={1.75} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        <Text size="sm">{children}</Text>
        {guide && (
          <Anchor href={guide} target="_blank" size="xs" mt={8} display="inline-block">
            More in the guide
          </Anchor>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

/** A label with its help: `label={<HelpLabel name="Wait" help="…" guide="/guide/rules/job-options#the-options" />}`. */
export const HelpLabel = ({
  name,
  help,
  guide,
}: {
  name: string;
  help: string;
  guide?: string;
}) => (
  <span className="help-label">
    {name}
    <Help about={name} {...(guide === undefined ? {} : { guide })}>
      {help}
    </Help>
  </span>
);
