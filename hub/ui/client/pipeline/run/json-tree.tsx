import { Button, Text } from "@mantine/core";
import { useState } from "react";

/** Members of one level that are shown before they are asked for. */
const FIRST = 100;
const OPEN_LEVELS = 2;

const isFolder = (value: unknown): value is object => typeof value === "object" && value !== null;

function Leaf({ value }: { value: unknown }) {
  const kind = value === null ? "null" : typeof value;
  return (
    <span className={`json-leaf ${kind}`}>
      {typeof value === "string" ? JSON.stringify(value) : String(value)}
    </span>
  );
}

function Folder({ name, value, level }: { name: string | null; value: object; level: number }) {
  const [open, setOpen] = useState(level < OPEN_LEVELS);
  const [most, setMost] = useState(FIRST);
  const members = Object.entries(value);
  const list = Array.isArray(value);
  const size = `${members.length} ${list ? "item" : "field"}${members.length === 1 ? "" : "s"}`;
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {name !== null && <span className="json-name">{name}: </span>}
        <span className="json-size">{`${list ? "[" : "{"} ${size} ${list ? "]" : "}"}`}</span>
      </summary>
      {open && (
        <div className="json-members">
          {members.slice(0, most).map(([key, member]) => (
            <Node key={key} name={key} value={member} level={level + 1} />
          ))}
          {members.length > most && (
            <Button size="compact-xs" variant="default" onClick={() => setMost(most + 10 * FIRST)}>
              {`${members.length - most} more`}
            </Button>
          )}
        </div>
      )}
    </details>
  );
}

function Node({ name, value, level }: { name: string | null; value: unknown; level: number }) {
  if (isFolder(value)) return <Folder name={name} value={value} level={level} />;
  return (
    <div className="json-line">
      {name !== null && <span className="json-name">{name}: </span>}
      <Leaf value={value} />
    </div>
  );
}

/** A value of JSON whose levels fold; only what is open is drawn. */
export function JsonTree({ label, value }: { label: string; value: unknown }) {
  if (value === null || value === undefined)
    return (
      <Text size="sm" c="dimmed">
        Nothing
      </Text>
    );
  return (
    <div className="json-tree" role="group" aria-label={label}>
      <Node name={null} value={value} level={0} />
    </div>
  );
}
