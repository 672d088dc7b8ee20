import { Box, Group, Progress, Text } from "@mantine/core";

/** Shares from which the load is high, and too high. */
const HIGH = { warn: 75, bad: 90 };

/** A share of what the machine has; 90 % of a disk is where no job comes any more (rules/scheduling#candidates). */
export function LoadBar({ label, percent }: { label: string; percent: number | null }) {
  if (percent === null)
    return (
      <Text size="xs" c="dimmed">
        –
      </Text>
    );
  const value = Math.max(0, Math.min(100, percent));
  const color = value >= HIGH.bad ? "red" : value >= HIGH.warn ? "orange" : "blue";
  return (
    <Group gap={6} wrap="nowrap">
      <Box flex={1} miw={24}>
        <Progress value={value} color={color} size="sm" aria-label={label} />
      </Box>
      <Text size="xs" className="tabular" ta="end" miw={34}>
        {Math.round(value)} %
      </Text>
    </Group>
  );
}
