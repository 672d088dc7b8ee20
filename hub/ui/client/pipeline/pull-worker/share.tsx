import { Box, Progress, Text } from "@mantine/core";

/** Above these it is worth a look. */
const COLORS = [
  { from: 90, color: "red" },
  { from: 70, color: "orange" },
  { from: 0, color: "blue" },
];

/** A share of something, as text over a thin bar. `percent` null: unknown. */
export function Share({
  label,
  percent,
  text,
  calm = false,
}: {
  label: string;
  percent: number | null;
  text?: string;
  /** Full is as it should be. */
  calm?: boolean;
}) {
  const shown = text ?? (percent === null ? "–" : `${Math.round(percent)} %`);
  return (
    <Box miw={0}>
      <Text size="xs" className="nums" truncate title={`${label}: ${shown}`}>
        {shown}
      </Text>
      {percent !== null && (
        <Progress
          value={percent}
          size={4}
          aria-label={`${label}: ${shown}`}
          color={calm ? "blue" : COLORS.find(({ from }) => percent >= from)?.color}
        />
      )}
    </Box>
  );
}
