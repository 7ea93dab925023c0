// The jobs, newest first.
const response = await fetch("/api/v1/jobs");
const answer = await response.json();
const list = document.getElementById("jobs");
for (const job of answer.jobs ?? []) {
  const row = document.createElement("li");
  row.textContent = `${job.job}: ${job.state}, ${job.pages} pages, ${job.items} items`;
  list.append(row);
}
if (!list.childElementCount) list.textContent = answer.error ? `${answer.error.what} ${answer.error.way}` : "There is no job yet.";
