/** `npm run docs:worst -- [number]`: the sentences of the pages that are hardest to read, hardest first. */

import { isReadable, rateSentence } from "./readability.ts";
import { listFiles, read } from "./repository.ts";
import { listSentences } from "./sentences.ts";

const DEFAULT_NUMBER = 20;

const worst = listFiles()
  .filter(isReadable)
  .flatMap((file) => listSentences(read(file)).map((sentence) => ({ ...sentence, file })))
  .map((sentence) => ({ ...sentence, rate: rateSentence(sentence) }))
  .sort((one, other) => other.rate - one.rate)
  .slice(0, Number(process.argv[2] ?? DEFAULT_NUMBER));

for (const { file, line, text, rate } of worst) console.log(`${rate}  ${file}:${line}  ${text}`);
