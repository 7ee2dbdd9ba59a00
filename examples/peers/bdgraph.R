# Runs BDgraph on one table of measurements, several times, and writes what it found: examples/peers/README.md.
#
#   Rscript examples/peers/bdgraph.R TABLES NAME ALGORITHM DRAWS WARMUP RUNS OUT
library(BDgraph)

arguments <- commandArgs(trailingOnly = TRUE)
name <- arguments[2]
numbers <- as.integer(arguments[4:6])
x <- as.matrix(read.csv(file.path(arguments[1], paste0(name, ".csv")), check.names = FALSE))

inclusion <- NULL
seconds <- c()
for (run in seq_len(numbers[3])) {
  set.seed(run)
  before <- sum(proc.time()[c(1, 2, 4, 5)])
  fit <- bdgraph(
    x, method = "ggm", algorithm = arguments[3], iter = numbers[1] + numbers[2], burnin = numbers[2],
    g.prior = 0.5, df.prior = 3, cores = 1, verbose = FALSE
  )
  seconds <- c(seconds, sum(proc.time()[c(1, 2, 4, 5)]) - before)
  p <- t(fit$p_links)  # pairs (1, 2), (1, 3), ..., of which the upper triangle is filled
  inclusion <- rbind(inclusion, p[lower.tri(p)])
}
found <- list(
  program = paste0("BDgraph ", packageVersion("BDgraph"), ", R ", getRversion()),
  algorithm = arguments[3], draws = numbers[1], warmup = numbers[2], runs = numbers[3], seconds = sum(seconds),
  inclusion = colMeans(inclusion), variance = apply(inclusion, 2, var)  # of one run
)
out <- file.path(arguments[7], paste0(name, "_", arguments[3], ".json"))
jsonlite::write_json(found, out, auto_unbox = TRUE, digits = I(5))
