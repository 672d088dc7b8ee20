import { Button, Group, Text } from "@mantine/core";

interface PagerProps {
  /** Cursors of the pages before this one, as they are kept in the address: joined by "~". */
  trail: string;
  next: string | null;
  /** Rows of this page, for the line between the buttons. */
  shown: number;
  onGo: (trail: string) => void;
}

/** The cursor that a page with this trail is read with. */
export const cursorOf = (trail: string): string | undefined => trail.split("~").at(-1) || undefined;

/** Goes through a list by its cursors; the way back is kept in the address. */
export function Pager({ trail, next, shown, onGo }: PagerProps) {
  const pages = trail === "" ? [] : trail.split("~");
  if (pages.length === 0 && next === null) return null;
  return (
    <Group justify="space-between" mt="sm">
      <Text size="sm" c="dimmed">
        Page {pages.length + 1}, {shown} rows
      </Text>
      <Group gap="xs">
        <Button
          size="xs"
          variant="default"
          disabled={pages.length === 0}
          onClick={() => onGo(pages.slice(0, -1).join("~"))}
        >
          Newer
        </Button>
        <Button
          size="xs"
          variant="default"
          disabled={next === null}
          onClick={() => next && onGo([...pages, next].join("~"))}
        >
          Older
        </Button>
      </Group>
    </Group>
  );
}
