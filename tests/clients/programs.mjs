// Programs that the scripts of this folder run: the server on a port, and the official tools.

import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atEnd, check, kill, userState } from './scenario.mjs';

/** How long a server may take to listen, or to be gone after it was killed. */
const SERVER_MS = 30_000;

/** Where the packages are. */
export const modules = fileURLToPath(new URL('node_modules', import.meta.url));

/** Runs a program to its end. It is killed when that takes longer than `limit_ms`, and with this script. */
export function execute(program, given, limit_ms, options) {
  return new Promise((settle, fail) => {
    // A process group of its own, so that the server that the program starts is killed with it.
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
    // This waits for the server too, which shares the error output of the program.
    child.once('close', (status, signal) => {
      gone();
      settle({ ended: signal ?? status, ...said });
    });
  });
}

/** A server on a port of its own, which keeps the port when it is started anew. */
export class Server {
  /** Starts `ait serve` in a directory. */
  static async start(binary, directory) {
    const server = new Server();
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

  /** Where the pages are. */
  get origin() {
    return `http://127.0.0.1:${this.port}`;
  }

  get url() {
    return `${this.origin}/mcp`;
  }

  /** Kills the server, as a crash does. */
  async crash() {
    const gone = this.once('exit');
    kill(this.child.pid);
    await gone;
  }

  /** Starts the server that has crashed on the same port. */
  async revive() {
    const { port } = this;
    await this.listen(port);
    check.equal(this.port, port);
  }

  /** Kills the server and starts it anew on the same port. */
  async restart() {
    await this.crash();
    await this.revive();
  }

  async listen(port) {
    // None of the settings that whoever runs this may have, such as ISSUES_FILE, and none of their projects.
    const env = { PATH: process.env.PATH, PORT: port, XDG_STATE_HOME: userState };
    const stdio = ['ignore', 'ignore', 'pipe'];
    this.child = spawn(this.command, ['serve'], { cwd: this.directory, env, stdio });
    this.port = await new Promise((settle, fail) => {
      const late = setTimeout(() => fail(new Error('the server does not listen')), SERVER_MS);
      const before = this.log.length;
      this.child.once('error', fail);
      this.child.once('exit', () => fail(new Error('the server has ended')));
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
      const late = setTimeout(() => fail(new Error(`no ${event} of the server`)), SERVER_MS);
      this.child.once(event, () => {
        clearTimeout(late);
        settle();
      });
    });
  }
}
