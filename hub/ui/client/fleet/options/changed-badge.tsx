import { Badge } from "@mantine/core";

/** How many of a folded group's options say something. */
export function ChangedBadge({ changed }: { changed: number }) {
  if (changed === 0) return null;
  return (
    <Badge variant="light" size="sm" tt="none">
      {changed} changed
    </Badge>
  );
}
