// The official TypeScript SDKs, and how a client of each is had that speaks one era of the protocol.

import { resolve } from 'node:path';
import * as v2 from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { atEnd, check, kill, userState } from './scenario.mjs';
import { Server } from './programs.mjs';

/** How long one answer may take. */
const ANSWER = { timeout: 15_000 };

// An SDK ends a server with a signal 2,000 ms after it has closed its stdin. One that is gone
// earlier has ended by itself.
const END_MS = 1_900;

/** What the SDKs call the same things. */
const SDK_V1 = {
  Client: ClientV1,
  Stdio: StdioV1,
  Http: HttpV1,
  Refusal: McpError,
  callTool: (client, params) => client.callTool(params, undefined, ANSWER),
  Updated: ResourceUpdatedNotificationSchema,
};
const SDK_V2 = {
  Client: v2.Client,
  Stdio: StdioV2,
  Http: v2.StreamableHTTPClientTransport,
  Refusal: v2.ProtocolError,
  callTool: (client, params) => client.callTool(params, ANSWER),
  Updated: 'notifications/resources/updated',
};

/**
 * A client of version 2 that ends a subscription over HTTP closes its stream, and then says so once more, in a
 * notification without a header that its revision asks for.
 */
const SLIP = /missing required Mcp-Method header/;

const negotiated = (mode) => ({ versionNegotiation: { mode } });

/** The last revision with sessions, and the first without. */
const [LEGACY, MODERN] = ['2025-11-25', '2026-07-28'];

/** The clients: the SDK, the options that have it speak an era, and the revision that it speaks then. */
const CLIENTS = {
  v1: [SDK_V1, {}, LEGACY],
  'v2-legacy': [SDK_V2, negotiated('legacy'), LEGACY],
  'v2-auto': [SDK_V2, negotiated('auto'), MODERN],
  'v2-modern': [SDK_V2, negotiated({ pin: MODERN }), MODERN],
};

/** A client that is connected to a server. */
class Session {
  constructor(sdk, client, transport, oddities, revision) {
    Object.assign(this, { sdk, client, transport, oddities, revision, wasCut: false });
  }

  /** Lists the tools. */
  listTools() {
    return this.client.listTools({}, ANSWER);
  }

  /** Has the client told of changes, in the way of its era; gives what ends that. */
  async watch(uris, told) {
    const { client, sdk, revision } = this;
    client.setNotificationHandler(sdk.Updated, ({ params }) => told(params.uri));
    if (revision === MODERN) {
      const subscription = await client.listen({ resourceSubscriptions: uris });
      check.deepEqual(subscription.honoredFilter, { resourceSubscriptions: uris });
      return () => subscription.close();
    }
    for (const uri of uris) await client.subscribeResource({ uri });
    return () => Promise.all(uris.map((uri) => client.unsubscribeResource({ uri })));
  }

  /** Calls a tool; what comes back is as the SDK gives it. */
  callTool(tool, given) {
    return this.sdk.callTool(this.client, { name: tool, arguments: given });
  }
}

/** One store, a transport, and a kind of client for it: what a scenario runs in. */
class Setting {
  constructor(client, binary, directory) {
    check.ok(CLIENTS[client], `one of ${Object.keys(CLIENTS)}, not ${client}`);
    [this.sdk, this.options, this.revision] = CLIENTS[client];
    this.binary = binary;
    this.directory = directory;
  }

  async introduced(name, transport) {
    const client = new this.sdk.Client({ name, version: '1.0.0' }, this.options);
    // Whatever the client cannot make sense of, such as a line on stdout that is no message.
    const oddities = [];
    client.onerror = ({ message }) => SLIP.test(message) || oddities.push(message);
    atEnd((failure) => failure && console.error(`what ${name} did not understand:`, oddities));
    await client.connect(transport, ANSWER);
    // The first SDK does not tell over stdio.
    const spoken = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
    check.equal(spoken ?? this.revision, this.revision);
    return new Session(this.sdk, client, transport, oddities, this.revision);
  }
}

/** Over stdio each client has a server of its own. */
class Stdio extends Setting {
  /** Starts a server in the directory, as an agent's client does, and introduces this client. */
  async connect(name) {
    const { binary, directory } = this;
    const command = { command: resolve(binary), cwd: directory, env: { PORT: '0', XDG_STATE_HOME: userState } };
    const transport = new this.sdk.Stdio({ ...command, stderr: 'pipe' });
    const log = [];
    transport.stderr.on('data', (chunk) => log.push(chunk));
    atEnd((failure) => {
      // Of a client that is not connected it is not known; its server sees the end of its stdin.
      if (transport.pid) kill(transport.pid);
      if (failure) console.error(`log of the server of ${name}:\n${Buffer.concat(log)}`);
    });
    return this.introduced(name, transport);
  }

  /** Closes stdin as a client does that goes away, and sees the server end by itself. */
  async disconnect({ client, transport, oddities }) {
    const { pid } = transport;
    const closed = performance.now();
    await client.close();
    const took_ms = performance.now() - closed;
    check.ok(took_ms < END_MS, `the server was still there ${took_ms} ms after the end of stdin`);
    check.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    check.deepEqual(oddities, []);
  }

  /** A client over stdio does not outlive its server. */
  async restart() {}
}

/** Over HTTP there is one server for all clients. */
class Http extends Setting {
  /** Introduces a client by the address of the server. */
  async connect(name) {
    this.server ??= await Server.start(this.binary, this.directory);
    const transport = new this.sdk.Http(new URL(this.server.url));
    const session = await this.introduced(name, transport);
    check.equal(transport.sessionId !== undefined, this.revision === LEGACY);
    return session;
  }

  /** Ends the session, if there is one, as a client does that is tidy; the server goes on. */
  async disconnect({ client, transport, oddities, wasCut }) {
    const { sessionId } = transport;
    if (sessionId) {
      await transport.terminateSession();
      check.equal(await this.asked(sessionId), 404);
    }
    await client.close();
    if (!wasCut) check.deepEqual(oddities, []);
  }

  /** The status with which the server answers in a session. */
  async asked(session) {
    const headers = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-session-id': session,
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    return (await fetch(this.server.url, { method: 'POST', headers, body })).status;
  }

  /** Kills the server and starts it anew, while these clients are connected. */
  async restart(...sessions) {
    for (const session of sessions) {
      check.deepEqual(session.oddities, []);
      // Its stream for news is, and it tells so whenever it finds out.
      session.wasCut = true;
    }
    await this.server.restart();
  }
}

/** The transports. */
export const TRANSPORTS = { stdio: Stdio, http: Http };
