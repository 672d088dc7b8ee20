import { ActionIcon, Box, Code, CopyButton, Tooltip } from "@mantine/core";
import { type Icon, IconCheck, IconCopy } from "@tabler/icons-react";

interface CopyProps {
  text: string;
  label?: string;
  icon?: Icon;
  /** "default" stands out as a button of its own. */
  variant?: "subtle" | "default";
}

export function Copy({ text, label = "Copy", icon: What = IconCopy, variant }: CopyProps) {
  return (
    <CopyButton value={text} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? "Copied" : label}>
          <ActionIcon
            variant={variant ?? "subtle"}
            color={copied ? "teal" : "gray"}
            aria-label={label}
            onClick={copy}
          >
            {copied ? <IconCheck size={16} /> : <What size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** A command of a shell, ready to be copied. */
export function Command({ text }: { text: string }) {
  return (
    <Box pos="relative">
      <Code block className="command" tabIndex={0}>
        {text}
      </Code>
      <Box pos="absolute" top={4} right={4}>
        <Copy text={text} label="Copy the command" />
      </Box>
    </Box>
  );
}
