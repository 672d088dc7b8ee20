import { Text } from "@mantine/core";
import { countText } from "../../lib/units.ts";

interface ListCountProps {
  count: number;
  /** There are more, which nobody counts. */
  more?: boolean;
}

/** How much a saved list has now. */
export const ListCount = ({ count, more = false }: ListCountProps) => (
  <Text span size="xs" c="dimmed">
    {countText(count)}
    {more ? "+" : ""}
  </Text>
);
