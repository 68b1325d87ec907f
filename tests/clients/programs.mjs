// Runs the programs that these scripts need: the server on a port, and the official tools.

import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atEnd, check, kill, userState } from './scenario.mjs';

/** How long a server may take to listen, or to exit after a kill. */
const SERVER_MS = 30_000;

/** The folder of the npm packages. */
export const modules = fileURLToPath(new URL('node_modules', import.meta.url));

/** Runs a program until it exits. Kills it after `limit_ms`, or when this script ends. */
export function execute(program, given, limit_ms, options) {
  return new Promise((settle, fail) => {
    // In its own process group, the program is killed together with the server that it starts.
    const grouped = { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
    const child = spawn(program, given, grouped);
    const said = { stdout: '', stderr: '' };
    for (const name of Object.keys(said)) {
      child[name].setEncoding('utf8').on('data', (text) => {
        said[name] += text;
      });
    }
    let running = true;
    const stop = () => running && kill(-child.pid);
    atEnd(stop);
    const late = setTimeout(() => {
      stop();
      fail(new Error(`still running after ${limit_ms} ms: ${given.join(' ')}\n${said.stderr}`));
    }, limit_ms);
    const gone = () => {
      running = false;
      clearTimeout(late);
    };
    child.once('error', (error) => {
      gone();
      fail(error);
    });
    // `close` also waits for the server, which shares the program's stderr.
    child.once('close', (status, signal) => {
      gone();
      settle({ ended: signal ?? status, ...said });
    });
  });
}

/** A server on its own port. It keeps the port across restarts. */
export class Server {
  /** Starts `ait serve` in a directory, with these environment variables. */
  static async start(binary, directory, env = {}) {
    const server = new Server();
    server.env = env;
    server.command = resolve(binary);
    server.directory = directory;
    server.log = '';
    atEnd((failure) => {
      if (server.child?.exitCode === null) kill(server.child.pid);
      if (failure) console.error(`log of the server:\n${server.log}`);
    });
    await server.listen('0');
    return server;
  }

  /** The origin of the pages. */
  get origin() {
    return `http://127.0.0.1:${this.port}`;
  }

  get url() {
    return `${this.origin}/mcp`;
  }

  /** Kills the server, like a crash. */
  async crash() {
    const gone = this.once('exit');
    kill(this.child.pid);
    await gone;
  }

  /** Starts the crashed server again on the same port. */
  async revive() {
    const { port } = this;
    await this.listen(port);
    check.equal(this.port, port);
  }

  /** Kills the server and starts it again on the same port. */
  async restart() {
    await this.crash();
    await this.revive();
  }

  async listen(port) {
    // The server must not see the user's settings, such as ISSUES_FILE, or the user's projects.
    const env = { PATH: process.env.PATH, PORT: port, XDG_STATE_HOME: userState, ...this.env };
    const stdio = ['ignore', 'ignore', 'pipe'];
    this.child = spawn(this.command, ['serve'], { cwd: this.directory, env, stdio });
    this.port = await new Promise((settle, fail) => {
      const late = setTimeout(() => fail(new Error('the server is not listening')), SERVER_MS);
      const before = this.log.length;
      this.child.once('error', fail);
      this.child.once('exit', () => fail(new Error('the server exited')));
      this.child.stderr.setEncoding('utf8').on('data', (text) => {
        this.log += text;
        const listening = this.log.slice(before).match(/pages: http:\/\/localhost:(\d+)\s/);
        if (!listening) return;
        clearTimeout(late);
        settle(listening[1]);
      });
    });
  }

  once(event) {
    return new Promise((settle, fail) => {
      const late = setTimeout(() => fail(new Error(`the server did not emit ${event}`)), SERVER_MS);
      this.child.once(event, () => {
        clearTimeout(late);
        settle();
      });
    });
  }
}
