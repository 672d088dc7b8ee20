import { afterAll, expect, test } from "bun:test";
import { readFileSync, readlinkSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tcpRows } from "#shared/kit/tcp-table.ts";

const open: (Server | Socket)[] = [];
afterAll(() => {
  for (const one of open) "destroy" in one ? one.destroy() : one.close();
});

const listen = (host: string): Promise<number> =>
  new Promise((done) => {
    const server = createServer();
    open.push(server);
    server.listen(0, host, () => done((server.address() as { port: number }).port));
  });

test("a table of the kernel has its rows: ports, state, queues and inode", () => {
  const table = [
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 4242 1 0000000000000000 100 0 0 10 0",
    "  10: 0100007F:1F90 0100007F:C350 01 0000001A:00000200 01:00000014 00000000  1000        0 77 2 0000000000000000 20 4 30 10 -1",
    "   1: 00000000000000000000000001000000:01BB 00000000000000000000000001000000:0050 01 00000000:00000000 00:00000000 00000000     0        0 9 1 0 20 4 0 10 -1",
  ].join("\n");
  expect([...tcpRows(table)]).toEqual([
    { local_port: 8080, remote_port: 0, listens: true, unsent: 0, unread: 3, inode: "4242" },
    { local_port: 8080, remote_port: 50000, listens: false, unsent: 26, unread: 512, inode: "77" },
    { local_port: 443, remote_port: 80, listens: false, unsent: 0, unread: 0, inode: "9" },
  ]);
  expect([...tcpRows("")]).toEqual([]);
});

test.each([
  ["tcp", "127.0.0.1"],
  ["tcp6", "::1"],
])("this machine's table %s has a server that was just started", async (name, host) => {
  const port = await listen(host);
  const rows = [...tcpRows(readFileSync(`/proc/self/net/${name}`, "latin1"))];
  const own = rows.find(({ local_port, listens }) => listens && local_port === port);
  expect(own?.remote_port).toBe(0);
  const fds = Array.from({ length: 256 }, (_, fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "";
    }
  });
  expect(fds).toContain(`socket:[${own?.inode}]`);
});
