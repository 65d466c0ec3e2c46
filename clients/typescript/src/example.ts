// Writes two messages to a memory of a running server, and prints the seed.
//
//     npm run example -- localhost:7700 [TOKEN]

import { randomUUID } from "node:crypto";
import { credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { MemoryServiceClient, SeedRequest, SeedResponse, WriteRequest, WriteResponse } from "../gen/seedbed/v1/memory_service.js";

const [address = "localhost:7700", token = ""] = process.argv.slice(2);
const client = new MemoryServiceClient(address, credentials.createInsecure());

// No call without a deadline, and each with an id that the server's log will have.
function call<Q, A>(
  rpc: (request: Q, metadata: Metadata, options: { deadline: Date }, done: (error: ServiceError | null, answer: A) => void) => unknown,
  request: Q,
): Promise<A> {
  const metadata = new Metadata();
  metadata.set("x-request-id", randomUUID());
  if (token) metadata.set("authorization", `Bearer ${token}`);
  return new Promise((resolve, reject) => {
    const done = (error: ServiceError | null, answer: A) => (error ? reject(error) : resolve(answer));
    rpc.call(client, request, metadata, { deadline: new Date(Date.now() + 30_000) }, done);
  });
}

function text(words: string) {
  return [{ kind: { $case: "text" as const, value: words } }];
}

async function main() {
  const memory = `typescript-${randomUUID()}`;
  const write = WriteRequest.fromPartial({
    memory,
    requestId: randomUUID(), // repeat the call with the same id, and nothing is stored twice
    system: "You are kind.",
    variant: { kind: { $case: "window", value: { n: 10 } } },
    messages: [
      { role: "user", name: "Maya", parts: text("Hi, I'm Maya.") },
      { role: "assistant", parts: text("Hello Maya!") },
    ],
  });
  const written = await call<WriteRequest, WriteResponse>(client.write, write);
  console.log(`wrote ${written.messageIds.length} messages, seq ${written.firstSeq} to ${written.lastSeq}`);
  const seed = await call<SeedRequest, SeedResponse>(client.seed, SeedRequest.fromPartial({ memory, query: "What is my name?" }));
  for (const message of seed.messages) {
    const words = message.parts.map((part) => (part.kind?.$case === "text" ? part.kind.value : "[media]"));
    console.log(`${message.role}: ${words.join("\n")}`);
  }
}

main()
  .catch((error: ServiceError) => {
    console.error(`${error.code}: ${error.details}`);
    process.exitCode = 1;
  })
  .finally(() => client.close());
