/** The members of Bun that the servers use, so that they need no types of Bun. */

export interface BunPeer {
  send(frame: string): number;
  subscribe(topic: string): void;
}

interface BunServer {
  readonly port: number;
  publish(topic: string, frame: string): number;
  upgrade(request: Request): boolean;
}

interface ServeOptions {
  readonly port: number;
  readonly hostname: string;
  fetch(request: Request, server: BunServer): Response | undefined;
  readonly websocket: {
    readonly perMessageDeflate: boolean;
    readonly maxPayloadLength: number;
    message(peer: BunPeer, data: string): void;
  };
}

interface ServeHttpOptions {
  readonly port: number;
  readonly hostname: string;
  fetch(request: Request, server: BunServer): Promise<Response>;
}

declare const Bun: { serve(options: ServeOptions | ServeHttpOptions): BunServer };

export const serve = (options: ServeOptions): BunServer => Bun.serve(options);

export const serveHttp = (options: ServeHttpOptions): BunServer => Bun.serve(options);
