import { Button, Kbd, Popover } from "@mantine/core";
import { IconKeyboard } from "@tabler/icons-react";
import { KEY_NAMES } from "./model/keys.ts";

/** The keys of the player, from its button or by `?`. */
export function KeysList({
  opened,
  onChange,
}: {
  opened: boolean;
  onChange: (open: boolean) => void;
}) {
  return (
    <Popover opened={opened} onChange={onChange} position="top-end" shadow="md" withinPortal>
      <Popover.Target>
        <Button
          size="xs"
          variant="subtle"
          color="gray"
          className="player-quiet"
          leftSection={<IconKeyboard size={14} />}
          onClick={() => onChange(!opened)}
        >
          Keys
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Keys of the player">
        <dl className="player-keys">
          {KEY_NAMES.map(({ keys, what }) => (
            <div key={what}>
              <dt>{keys.map((key) => (key === "–" ? key : <Kbd key={key}>{key}</Kbd>))}</dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
      </Popover.Dropdown>
    </Popover>
  );
}
