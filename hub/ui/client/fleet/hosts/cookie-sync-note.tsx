import { Anchor, Button, Group, Paper, Text, Title } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { pathOf } from "#shared/client/operation.ts";

/** How cookies get here from a person's browser (rules/hosts#cookie-sync). */
export function CookieSyncNote() {
  return (
    <Paper withBorder p="md" mt="lg" component="section" aria-label="Cookies from your browser">
      <Title order={2} size="h4" mb={4}>
        Cookies from your browser
      </Title>
      <Text size="sm" mb="sm">
        The browser extension sends the cookies of the current site, or of all sites, to this hub.
        Each cookie goes to the host of its domain, and jobs on that host are then logged in as you
        are. Unknown hosts are created. The newest cookies win.
      </Text>
      <Group gap="sm">
        <Button
          component="a"
          href={pathOf("GET /profiles/extension.zip")}
          download
          variant="default"
          size="xs"
          leftSection={<IconDownload size={16} />}
        >
          Download the extension
        </Button>
        <Anchor
          size="sm"
          href={pathOf("GET /profiles/extension/install")}
          target="_blank"
          rel="noreferrer"
        >
          How to install it
        </Anchor>
      </Group>
    </Paper>
  );
}
