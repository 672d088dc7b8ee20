import { UnstyledButton } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import type { LogEntry } from "#shared/protocol/schema/operations.ts";
import { lineTimeText } from "../../lib/units.ts";
import { Copy } from "../../parts/copy.tsx";
import { Status } from "../../parts/text.tsx";

interface LogRowProps {
  line: LogEntry;
  open: boolean;
  onToggle: () => void;
}

/** One line: everything in it is text from outside. Its fields are unfolded below it. */
export function LogRow({ line, open, onToggle }: LogRowProps) {
  const { ts, level, host, service, message, fields } = line;
  const count = Object.keys(fields).length;
  const counted = count === 1 ? "1 field" : `${count} fields`;
  return (
    <>
      <div className="service-line">
        <time dateTime={ts} title={ts}>
          {lineTimeText(new Date(ts))}
        </time>
        <Status value={level} />
        <span className="from">
          {host} {service}
        </span>
        <span className="message">{message}</span>
        {count > 0 && (
          <UnstyledButton
            className="unfold"
            aria-expanded={open}
            aria-label={`${counted} of ${message}`}
            onClick={onToggle}
          >
            {open ? <IconChevronDown size={12} /> : <IconChevronRight size={12} />}
            {counted}
          </UnstyledButton>
        )}
      </div>
      {open && (
        <div className="service-fields">
          <pre>{JSON.stringify(fields, null, 2)}</pre>
          <Copy text={JSON.stringify(line)} label="Copy the line as JSON" />
        </div>
      )}
    </>
  );
}
