import { Anchor, Stack, Text } from "@mantine/core";
import { Link } from "wouter";
import type { Plugin } from "#shared/protocol/schema/plugin.ts";
import { pluginHref, workloadHref } from "../../lib/links.ts";
import { useGet } from "../../lib/query.ts";
import { Fact, FactList } from "../../parts/facts.tsx";
import { PanelActions, PanelPart } from "../../parts/panel-parts.tsx";
import { Loadable } from "../../parts/states.tsx";
import { PluginErrors } from "../plugin/plugin-errors.tsx";

/** A plugin beside its list: why it cannot be used, what it is, and which workloads run it. */
export function PluginPanel({ plugin }: { plugin: Plugin }) {
  const { slug, manifest, errors } = plugin;
  return (
    <Stack gap="md">
      <PanelActions href={pluginHref(slug)} open="Open plugin" />
      <PluginErrors errors={errors} />
      {manifest !== null && manifest.description !== "" && (
        <Text size="sm" className="wrap">
          {manifest.description}
        </Text>
      )}
      <Facts plugin={plugin} />
      <PanelPart title="Workloads with it">
        <Users slug={slug} />
      </PanelPart>
    </Stack>
  );
}

function Facts({ plugin }: { plugin: Plugin }) {
  const { slug, manifest, path, sha256 } = plugin;
  const executor = manifest?.executor;
  return (
    <FactList label="Plugin">
      <Fact name="Slug" copy={slug}>
        {slug}
      </Fact>
      <Fact name="Version">{manifest?.version ?? "–"}</Fact>
      <Fact name="Runs as">{executor === undefined ? "–" : <code>{executor.type}</code>}</Fact>
      {executor?.module !== undefined && (
        <Fact name="Module">
          <code>{executor.module}</code>
        </Fact>
      )}
      {executor?.argv !== undefined && (
        <Fact name="Command">
          <code>{executor.argv.join(" ")}</code>
        </Fact>
      )}
      {executor?.fleet === true && <Fact name="Jobs of the fleet">Its tasks may run them.</Fact>}
      <Fact name="Web page">{manifest?.web ? "yes" : "no"}</Fact>
      <Fact name="Folder" copy={path}>
        <code>{path}</code>
      </Fact>
      {sha256 !== null && (
        <Fact name="Version of its files" copy={sha256}>
          <code>{sha256.slice(0, 12)}</code>
        </Fact>
      )}
    </FactList>
  );
}

/** The workloads whose executor is this plugin. */
function Users({ slug }: { slug: string }) {
  const query = useGet("/api/v1/workloads");
  return (
    <Loadable query={query} lines={2}>
      {({ workloads }) => {
        const users = workloads.filter(({ executor_config }) => executor_config.plugin === slug);
        if (users.length === 0)
          return (
            <Text size="sm" c="dimmed">
              No workload uses it.
            </Text>
          );
        return (
          <ul className="panel-list">
            {users.map((one) => (
              <li key={one.slug}>
                <Anchor component={Link} href={workloadHref(one.slug)} size="sm" className="wrap">
                  {one.slug}
                </Anchor>
                {!one.enabled && ", off"}
              </li>
            ))}
          </ul>
        );
      }}
    </Loadable>
  );
}
