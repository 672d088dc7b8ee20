import { Badge, Box, Button, Code, Group, Stack, Tabs, Text } from "@mantine/core";
import { pathOf } from "#shared/client/operation.ts";
import type { Plugin } from "#shared/protocol/schema/plugin.ts";
import { useFilters } from "../lib/filters.ts";
import { useGet } from "../lib/query.ts";
import { Copy } from "../parts/copy.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { Blobs } from "./plugin/blobs.tsx";
import { PluginErrors } from "./plugin/plugin-errors.tsx";
import { States } from "./plugin/states.tsx";

/**
 * As its own answers say (hub/pipeline/routes/plugins.ts): its scripts run in an origin of their own. Without
 * allow-same-origin, which would let them take the frame's sandbox away.
 */
const SANDBOX = "allow-scripts allow-modals allow-popups allow-downloads";

function WebPage({ plugin }: { plugin: Plugin }) {
  const { slug, manifest } = plugin;
  const address = pathOf("GET /api/v1/plugins/{slug}/web/{path}", { params: { slug, path: "" } });
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          It runs in a sandbox of its own and cannot call the API.
        </Text>
        <Button
          component="a"
          href={address}
          target="_blank"
          rel="noreferrer noopener"
          size="compact-sm"
          variant="default"
        >
          Open by itself
        </Button>
      </Group>
      <iframe
        className="plugin-frame"
        title={`Web page of ${manifest?.name ?? slug}`}
        src={address}
        sandbox={SANDBOX}
        referrerPolicy="no-referrer"
      />
    </Stack>
  );
}

function Manifest({ plugin }: { plugin: Plugin }) {
  const text = JSON.stringify(plugin.manifest, null, 2);
  return (
    <Stack gap="sm">
      <Text size="sm" className="wrap">
        {plugin.manifest?.description}
      </Text>
      <Text size="sm" c="dimmed" className="wrap">
        Folder <Code>{plugin.path}</Code>
        {plugin.sha256 && (
          <>
            , version of its files <Code>{plugin.sha256.slice(0, 12)}</Code>
          </>
        )}
      </Text>
      {plugin.manifest && (
        <Box pos="relative">
          <Code block className="wrap" tabIndex={0}>
            {text}
          </Code>
          <Box pos="absolute" top={4} right={4}>
            <Copy text={text} label="Copy the manifest" />
          </Box>
        </Box>
      )}
    </Stack>
  );
}

function PluginTabs({ plugin }: { plugin: Plugin }) {
  const web = plugin.sha256 !== null && plugin.manifest?.web !== undefined;
  const [{ tab }, set] = useFilters({ tab: "" });
  return (
    <Tabs
      value={tab || (web ? "page" : "manifest")}
      // What another tab keeps in the address means nothing here.
      onChange={(next) => set({ tab: next ?? "", prefix: "", page: "", key: "" } as never)}
      keepMounted={false}
    >
      <Tabs.List mb="md">
        {web && <Tabs.Tab value="page">Web page</Tabs.Tab>}
        <Tabs.Tab value="manifest">Manifest</Tabs.Tab>
        <Tabs.Tab value="state">State</Tabs.Tab>
        <Tabs.Tab value="blobs">Blobs</Tabs.Tab>
      </Tabs.List>
      {web && (
        <Tabs.Panel value="page">
          <WebPage plugin={plugin} />
        </Tabs.Panel>
      )}
      <Tabs.Panel value="manifest">
        <Manifest plugin={plugin} />
      </Tabs.Panel>
      <Tabs.Panel value="state">
        <States slug={plugin.slug} />
      </Tabs.Panel>
      <Tabs.Panel value="blobs">
        <Blobs slug={plugin.slug} />
      </Tabs.Panel>
    </Tabs>
  );
}

export function Page({ params }: { params: Record<string, string> }) {
  const query = useGet("/api/v1/plugins/available");
  const slug = params.slug ?? "";
  const plugin = query.data?.plugins.find((one) => one.slug === slug);
  return (
    <>
      <PageHead
        title={plugin?.manifest?.name ?? slug}
        crumbs={[{ title: "Plugins", href: "/ui/library/plugins" }]}
        badges={
          plugin?.manifest && (
            <Badge variant="default" className="status">
              {plugin.manifest.version}
            </Badge>
          )
        }
      >
        {plugin?.sha256 && (
          <Button
            component="a"
            href={pathOf("GET /api/v1/plugins/{slug}/archive", { params: { slug } })}
            download
            size="xs"
            variant="default"
          >
            Download
          </Button>
        )}
      </PageHead>
      <Loadable query={query}>
        {() =>
          plugin === undefined ? (
            <Empty title={`There is no plugin ${slug}`}>
              A plugin appears as soon as its folder is in the plugins directory.
            </Empty>
          ) : (
            <Stack gap="md">
              <PluginErrors errors={plugin.errors} />
              <PluginTabs plugin={plugin} />
            </Stack>
          )
        }
      </Loadable>
    </>
  );
}
