// Creates clients with the official TypeScript SDKs, each for one era of the protocol.

import { resolve } from 'node:path';
import * as v2 from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  McpError,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { atEnd, check, kill, userState } from './scenario.mjs';
import { Server } from './programs.mjs';

/** How long one answer may take. */
const ANSWER = { timeout: 15_000 };

// An SDK sends the server a signal 2,000 ms after it has closed the server's stdin. A server that exits
// earlier has exited by itself.
const END_MS = 1_900;

/** The names of the same classes and functions in each SDK. */
const SDK_V1 = {
  Client: ClientV1,
  Stdio: StdioV1,
  Http: HttpV1,
  Refusal: McpError,
  callTool: (client, params, limit = ANSWER) => client.callTool(params, undefined, limit),
  Updated: ResourceUpdatedNotificationSchema,
  Elicit: ElicitRequestSchema,
  Sample: CreateMessageRequestSchema,
};
const SDK_V2 = {
  Client: v2.Client,
  Stdio: StdioV2,
  Http: v2.StreamableHTTPClientTransport,
  Refusal: v2.ProtocolError,
  callTool: (client, params, limit = ANSWER) => client.callTool(params, limit),
  Updated: 'notifications/resources/updated',
  Elicit: 'elicitation/create',
  Sample: 'sampling/createMessage',
};

/**
 * A bug of SDK version 2: to end a subscription over HTTP, a client closes the stream and then sends a redundant
 * notification without a header that its revision requires.
 */
const KNOWN_SDK_ERROR = /missing required Mcp-Method header/;

const negotiated = (mode) => ({ versionNegotiation: { mode } });

/** The last revision with sessions, and the first one without. */
const [LEGACY, MODERN] = ['2025-11-25', '2026-07-28'];

/** Each client's SDK, the options that select an era, and the revision that the client then speaks. */
const CLIENTS = {
  v1: [SDK_V1, {}, LEGACY],
  'v2-legacy': [SDK_V2, negotiated('legacy'), LEGACY],
  'v2-auto': [SDK_V2, negotiated('auto'), MODERN],
  'v2-modern': [SDK_V2, negotiated({ pin: MODERN }), MODERN],
};

/** A client that is connected to a server. */
class Session {
  constructor(sdk, client, transport, problems, revision) {
    Object.assign(this, { sdk, client, transport, problems, revision, wasCut: false });
  }

  /** Lists the tools. */
  listTools() {
    return this.client.listTools({}, ANSWER);
  }

  /** Subscribes to changes in the way of the client's era. Returns a function that unsubscribes. */
  async watch(uris, onUpdate) {
    const { client, sdk, revision } = this;
    client.setNotificationHandler(sdk.Updated, ({ params }) => onUpdate(params.uri));
    if (revision === MODERN) {
      const subscription = await client.listen({ resourceSubscriptions: uris });
      check.deepEqual(subscription.honoredFilter, { resourceSubscriptions: uris });
      return () => subscription.close();
    }
    for (const uri of uris) await client.subscribeResource({ uri });
    return () => Promise.all(uris.map((uri) => client.unsubscribeResource({ uri })));
  }

  /** Calls a tool and returns the SDK's result. */
  callTool(tool, given, limit) {
    return this.sdk.callTool(this.client, { name: tool, arguments: given }, limit);
  }
}

/** The environment of a scenario: a store, a transport and a kind of client. */
class Setting {
  constructor(client, binary, directory) {
    check.ok(CLIENTS[client], `one of ${Object.keys(CLIENTS)}, not ${client}`);
    [this.sdk, this.options, this.revision] = CLIENTS[client];
    this.binary = binary;
    this.directory = directory;
  }

  async introduced(name, transport, person, model) {
    const capabilities = { ...(person && { elicitation: {} }), ...(model && { sampling: {} }) };
    const client = new this.sdk.Client({ name, version: '1.0.0' }, { ...this.options, capabilities });
    if (person) client.setRequestHandler(this.sdk.Elicit, ({ params }) => person(params));
    if (model) client.setRequestHandler(this.sdk.Sample, ({ params }) => model(params));
    // Errors that the client reports, such as for a line on stdout that is not a message.
    const problems = [];
    client.onerror = ({ message }) => KNOWN_SDK_ERROR.test(message) || problems.push(message);
    atEnd((failure) => failure && console.error(`errors of the client ${name}:`, problems));
    await client.connect(transport, ANSWER);
    // Over stdio, SDK version 1 does not report the revision.
    const spoken = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
    check.equal(spoken ?? this.revision, this.revision);
    return new Session(this.sdk, client, transport, problems, this.revision);
  }
}

/** Over stdio, each client has its own server. */
class Stdio extends Setting {
  /**
   * Starts a server in the directory, as an agent's client does, and connects this client to it. Its person, if it has
   * one, answers forms, and its model messages.
   */
  async connect(name, person, model) {
    const { binary, directory } = this;
    const command = { command: resolve(binary), cwd: directory, env: { PORT: '0', XDG_STATE_HOME: userState } };
    const transport = new this.sdk.Stdio({ ...command, stderr: 'pipe' });
    const log = [];
    transport.stderr.on('data', (chunk) => log.push(chunk));
    atEnd((failure) => {
      // Without a connection the pid is unknown, but the server exits when its stdin closes.
      if (transport.pid) kill(transport.pid);
      if (failure) console.error(`log of the server of ${name}:\n${Buffer.concat(log)}`);
    });
    return this.introduced(name, transport, person, model);
  }

  /** Closes stdin, as a leaving client does, and checks that the server exits by itself. */
  async disconnect({ client, transport, problems }) {
    const { pid } = transport;
    const closed = performance.now();
    await client.close();
    const took_ms = performance.now() - closed;
    check.ok(took_ms < END_MS, `the server still ran ${took_ms} ms after stdin closed`);
    check.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    check.deepEqual(problems, []);
  }

  /** Does nothing: a client over stdio does not outlive its server. */
  async restart() {}
}

/** Over HTTP, all clients share one server. */
class Http extends Setting {
  /** Connects a client to the URL of the server. Its person, if it has one, answers forms, and its model messages. */
  async connect(name, person, model) {
    this.server ??= await Server.start(this.binary, this.directory);
    const transport = new this.sdk.Http(new URL(this.server.url));
    const session = await this.introduced(name, transport, person, model);
    check.equal(transport.sessionId !== undefined, this.revision === LEGACY);
    return session;
  }

  /** Ends the session, if there is one, as a well-behaved client does. The server keeps running. */
  async disconnect({ client, transport, problems, wasCut }) {
    const { sessionId } = transport;
    if (sessionId) {
      await transport.terminateSession();
      check.equal(await this.statusOf(sessionId), 404);
    }
    await client.close();
    if (!wasCut) check.deepEqual(problems, []);
  }

  /** Sends a request in a session and returns the HTTP status. */
  async statusOf(session) {
    const headers = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-session-id': session,
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    return (await fetch(this.server.url, { method: 'POST', headers, body })).status;
  }

  /** Kills the server and starts it again while these clients are connected. */
  async restart(...sessions) {
    for (const session of sessions) {
      check.deepEqual(session.problems, []);
      // The restart cuts the notification stream. The client reports this error at some later time.
      session.wasCut = true;
    }
    await this.server.restart();
  }
}

/** The transports. */
export const TRANSPORTS = { stdio: Stdio, http: Http };
