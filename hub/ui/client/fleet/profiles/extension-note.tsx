import { Anchor, Button, Code, List, Paper, Text, Title } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { pathOf } from "#shared/client/operation.ts";

/**
 * How to install the cookie-sync extension, and how a profile comes out of a session (rules/hosts#cookie-sync-extension,
 * rules/profiles#save-a-session-as-a-profile).
 */
export function ExtensionNote() {
  return (
    <>
      <Paper withBorder p="md" component="section" aria-label="Browser extension">
        <Title order={2} size="h4" mb={4}>
          Browser extension
        </Title>
        <Text size="sm" mb="sm">
          Sends the cookies of your own browser to the hosts of this hub. It already knows the hub's
          address. It sends no saved passwords and no storage: upload a profile for those.
        </Text>
        <List type="ordered" size="sm" spacing={4} mb="sm">
          <List.Item>Unpack the zip into a permanent folder.</List.Item>
          <List.Item>
            Open <Code>chrome://extensions</Code> and switch on Developer mode.
          </List.Item>
          <List.Item>
            Choose “Load unpacked” and pick the folder that holds <Code>manifest.json</Code>.
          </List.Item>
          <List.Item>
            Log in to a site, click the extension's button, then Send. Its cookies appear under the
            host.
          </List.Item>
        </List>
        <Button
          component="a"
          href={pathOf("GET /profiles/extension.zip")}
          download
          variant="default"
          leftSection={<IconDownload size={16} />}
          mr="sm"
        >
          Download the extension
        </Button>
        <Anchor
          size="sm"
          href={pathOf("GET /profiles/extension/install")}
          target="_blank"
          rel="noreferrer"
        >
          How to install it, on one page
        </Anchor>
      </Paper>
      <Paper withBorder p="md" component="section" aria-label="From a session">
        <Title order={2} size="h4" mb={4}>
          From a session
        </Title>
        <Text size="sm">
          Open a session, log in there by hand, and save its browser profile on the session's page.
          Its browser is closed for a moment and opens again with the same tabs.
        </Text>
      </Paper>
    </>
  );
}
