# What kab's analysis computes, in R: the measured counterpart of stats_vs_r.cpp. Called by stats_vs_r.py.
# usage: Rscript --vanilla stats_vs_r.R DATA OUT matrices|calls
#
# matrices: every step works on all comparisons at once, as matrices (blocks x comparisons).
# calls: t.test, wilcox.test and aov, called for each comparison or series; the rest is as above.
# Only base R and stats. It computes figures only, as the timed part of stats_vs_r.cpp; kab's verdicts and its search for
# the look at which each fell are in kab's time all the same.

looks <- c(6, 10, 16, 24, 32)
alpha <- 0.05
control_alpha <- 0.005
margin <- log1p(0.02)

# ---- group-sequential bounds: Hwang-Shih-DeCani spending, gamma = -4 ----

# Gauss-Legendre on [-1, 1] by Golub and Welsch.
gauss_legendre <- function(n) {
  k <- seq_len(n - 1)
  off <- k / sqrt(4 * k^2 - 1)
  m <- matrix(0, n, n)
  m[cbind(k, k + 1)] <- off
  m[cbind(k + 1, k)] <- off
  e <- eigen(m, symmetric = TRUE)
  list(x = e$values, w = 2 * e$vectors[1, ]^2)
}

# Nominal one-sided p at the last look, for a vector of one-sided alphas: all integrals are advanced together, a column
# for each alpha.
nominal_p <- function(alpha, t, rule) {
  spent <- outer(expm1(4 * t) / expm1(4), alpha)
  step <- rbind(spent[1, ], diff(spent))
  n <- length(rule$x)
  score <- qnorm(step[1, ], lower.tail = FALSE) * sqrt(t[1])
  if (length(t) == 1) return(step[1, ])
  at <- mass <- NULL
  for (k in seq_along(t)[-1]) {
    before <- if (k == 2) 0 else t[k - 2]
    low <- -8.5 * sqrt(t[k - 1])
    half <- (score - low) / 2
    now <- low + outer(rule$x + 1, half)
    density <- if (is.null(at)) dnorm(now, sd = sqrt(t[k - 1])) else {
      sd <- sqrt(t[k - 1] - before)
      sapply(seq_along(alpha), function(a) drop(dnorm(outer(now[, a], at[, a], "-"), sd = sd) %*% mass[, a]))
    }
    mass <- density * outer(rule$w, half)
    at <- now
    root <- sqrt(t[k] - t[k - 1])
    score <- qnorm(step[k, ], lower.tail = FALSE) * sqrt(t[k])
    for (newton in 1:50) {
      z <- (rep(score, each = n) - at) / root
      p <- colSums(mass * pnorm(z, lower.tail = FALSE))
      move <- p / (colSums(mass * dnorm(z)) / root) * log(p / step[k, ])
      score <- score + move
      if (all(abs(move) <= 1e-13 * pmax(1, abs(score)))) break
    }
  }
  pnorm(score / sqrt(t[length(t)]), lower.tail = FALSE)
}

# The least two-sided alpha at which the bound of the last look is reached, for all p at once: log nominal p over
# log alpha at Chebyshev nodes, then bisection on the barycentric interpolant.
repeated_p <- function(p, t, rule) {
  range <- log(c(1e-10, 0.5))
  i <- 0:20
  x <- mean(range) - diff(range) / 2 * cos(pi * i / 20)
  y <- log(nominal_p(exp(x), t, rule))
  w <- (-1)^i * ifelse(i == 0 | i == 20, 0.5, 1)
  value <- function(at) {
    off <- outer(-x, at, "+")
    off[off == 0] <- 1e-300
    share <- w / off
    colSums(share * y) / colSums(share)
  }
  wanted <- log(p / 2)
  low <- rep(range[1], length(p))
  high <- rep(range[2], length(p))
  for (step in 1:46) {
    middle <- (low + high) / 2
    up <- value(middle) < wanted
    low <- ifelse(up, middle, low)
    high <- ifelse(up, high, middle)
  }
  one_sided <- exp((low + high) / 2)
  far <- wanted <= y[1]
  one_sided[far] <- exp(x[1] + wanted[far] - y[1])
  one_sided[wanted >= y[21]] <- 0.5
  pmin(1, 2 * one_sided)
}

# Effect in sd(d) found with 90% probability.
detectable <- function(n, nominal) {
  limit <- qt(nominal, n - 1, lower.tail = FALSE)
  miss <- function(e) {
    pt(limit, n - 1, e * sqrt(n), lower.tail = FALSE) + pt(-limit, n - 1, e * sqrt(n)) - 0.9
  }
  uniroot(miss, c(0.01, 10), tol = 1e-12)$root
}

# ---- the analysis ----

# The tests of all columns by R's own functions.
call_tests <- function(diffs, nominal) {
  one <- function(j) {
    d <- diffs[, j]
    t <- t.test(d, conf.level = 1 - 2 * nominal[j])
    low <- t.test(d, mu = -margin, alternative = "greater")$p.value
    high <- t.test(d, mu = margin, alternative = "less")$p.value
    w <- wilcox.test(d, exact = TRUE, conf.int = TRUE, conf.level = 1 - 2 * nominal[j])
    c(t$estimate, t$conf.int, sd(d), t$statistic, t$p.value, max(low, high), w$p.value, w$estimate, w$conf.int)
  }
  m <- vapply(seq_len(ncol(diffs)), one, numeric(11))
  list(mean = m[1, ], low = m[2, ], high = m[3, ], sd = m[4, ], t = m[5, ], p = m[6, ], p_equivalence = m[7, ],
       p_rank = m[8, ], shift = m[9, ], rank_low = m[10, ], rank_high = m[11, ])
}

# Mean squares of all series by aov: a row each for blocks, boots and iterations.
call_aov <- function(y) {
  d <- dim(y)
  index <- factor(rep(seq_len(d[1]), d[3] * d[4]))
  arm <- factor(rep(rep(seq_len(d[3]), each = d[1]), d[4]))
  block <- factor(rep(seq_len(d[4]), each = d[1] * d[3]))
  vapply(seq_len(d[2]), function(s) {
    value <- as.vector(y[, s, , ])
    strata <- summary(aov(value ~ arm + index + Error(block / arm)))
    square <- function(stratum) tail(strata[[stratum]][[1]][["Mean Sq"]], 1)
    c(square("Error: block") / d[1], square("Error: block:arm") / d[1], square("Error: Within"))
  }, numeric(3))
}

by_column <- function(m) matrix(m[order(col(m), m, method = "radix")], nrow(m))

# Student's t with its interval, two one-sided tests, exact signed-rank, Hodges-Lehmann with its interval.
matrix_tests <- function(diffs, nominal, k) {
  n <- nrow(diffs)
  df <- n - 1
  mean_d <- colMeans(diffs)
  sd_d <- sqrt(colSums((diffs - rep(mean_d, each = n))^2) / df)
  se <- sd_d / sqrt(n)
  t_value <- mean_d / se
  half <- qt(nominal, df, lower.tail = FALSE) * se
  above <- pt((mean_d + margin) / se, df, lower.tail = FALSE)
  below <- pt((margin - mean_d) / se, df, lower.tail = FALSE)

  size <- abs(diffs)
  order_of <- order(col(size), size, method = "radix")
  ranks <- array(0, dim(diffs))
  ranks[order_of] <- rep(seq_len(n), ncol(diffs))
  stopifnot(all(diff(size[order_of])[-n * seq_len(ncol(diffs))] > 0))  # psignrank knows no ties
  w <- colSums(ranks * (diffs > 0))
  pair <- which(upper.tri(diag(n), diag = TRUE), arr.ind = TRUE)
  walsh <- by_column((diffs[pair[, 1], ] + diffs[pair[, 2], ]) / 2)
  all <- nrow(walsh)
  column <- seq_len(ncol(walsh))
  list(mean = mean_d, low = mean_d - half, high = mean_d + half, sd = sd_d, t = t_value, p = 2 * pt(-abs(t_value), df),
       p_equivalence = pmax(above, below),
       p_rank = pmin(1, 2 * pmin(psignrank(w, n), psignrank(w - 1, n, lower.tail = FALSE))),
       shift = (walsh[(all + 1) %/% 2, ] + walsh[all %/% 2 + 1, ]) / 2,
       rank_low = walsh[cbind(k, column)], rank_high = walsh[cbind(all + 1 - k, column)])
}

# Mean squares of all series: a row each for blocks, boots and iterations.
matrix_aov <- function(y, off, score) {
  d <- dim(y)
  index_mean <- rowMeans(off, dims = 2)  # iterations x series
  within <- rowSums(colSums(off^2)) - d[3] * d[4] * colSums(index_mean^2)
  grand <- rowMeans(score)
  arm_mean <- rowMeans(score, dims = 2)
  block_mean <- colMeans(aperm(score, c(2, 1, 3)))  # series x blocks
  rests <- score - as.vector(arm_mean) - as.vector(block_mean[, rep(seq_len(d[4]), each = d[3])]) + grand
  rbind(d[3] * rowSums((block_mean - grand)^2) / (d[4] - 1), rowSums(rests^2) / ((d[3] - 1) * (d[4] - 1)),
        within / ((d[1] - 1) * (d[3] * d[4] - 1)))
}

analyse <- function(data, calls) {
  d <- data$size
  arms <- d[["arms"]]; blocks <- d[["blocks"]]; iterations <- d[["iterations"]]
  points <- d[["points"]]; metrics <- d[["metrics"]]; series <- points * metrics
  treated <- seq_len(arms - 1)
  n <- blocks

  # iterations x series x arms x blocks, on the log scale
  y <- array(log(data$values), c(iterations, series, arms, blocks))
  score <- colMeans(y)

  # Block differences: blocks x (arm, series), then the means over the points of each metric.
  base <- t(score[, 1, ])
  of_points <- do.call(cbind, lapply(treated, function(a) t(score[, a + 1, ]) - base))
  of_metric <- function(m) {
    t(rowsum(t(m), rep(seq_len(metrics * length(treated)), each = points), reorder = FALSE)) / points
  }
  diffs <- cbind(of_metric(of_points), of_points)
  arm <- c(rep(treated, each = metrics), rep(treated, each = series))
  metric <- c(rep(seq_len(metrics) - 1, length(treated)), rep(rep(seq_len(metrics) - 1, each = points), length(treated)))
  which <- c(rep(-1, metrics * length(treated)), rep(seq_len(series) - 1, length(treated)))
  control <- arm == arms - 1
  primary <- which == -1 & metric == 0

  # what the last look may spend
  rule <- gauss_legendre(96)
  t <- looks / max(looks)
  level <- ifelse(!primary, alpha, ifelse(control, control_alpha, alpha / sum(primary & !control)))
  levels <- unique(level)
  at <- match(level, levels)
  at_level <- nominal_p(levels / 2, t, rule)
  nominal <- at_level[at]
  found <- vapply(at_level, function(q) detectable(n, q), 0)[at]
  k <- pmax(1, qsignrank(nominal, n))
  test <- if (calls) call_tests(diffs, nominal) else matrix_tests(diffs, nominal, k)
  p <- test$p

  # many tests
  p_sequential <- repeated_p(p, t, rule)
  p_adjusted <- rep(NA_real_, length(p))
  first <- primary & !control
  rest <- !primary & !control
  p_adjusted[first] <- p.adjust(p_sequential[first], "holm")
  p_adjusted[rest] <- p.adjust(p_sequential[rest], "BH")

  # variance components by mean squares; index means removed
  off <- y - rep(score, each = iterations)
  squares <- if (calls) call_aov(y) else matrix_aov(y, off, score)
  index <- seq_len(iterations) - (iterations + 1) / 2
  slope <- colSums(off * index) / sum(index^2)
  of_block <- colMeans(aperm(slope, c(2, 1, 3)))
  trend <- rowMeans(of_block)

  # per arm and series
  raw <- array(data$values, c(iterations, series, arms, blocks))
  boot <- colMeans(raw)
  boot_mean <- rowMeans(boot, dims = 2)
  boot_sd <- sqrt(rowSums((boot - as.vector(boot_mean))^2, dims = 2) / (blocks - 1))
  flat <- matrix(aperm(raw, c(2, 3, 1, 4)), series * arms)
  least <- flat[cbind(seq_len(nrow(flat)), max.col(-flat, "first"))]
  most <- flat[cbind(seq_len(nrow(flat)), max.col(flat, "first"))]

  # Fisher's exact test on failed boots
  fisher <- vapply(treated + 1, function(a) {
    fisher.test(rbind(c(data$failed[a], data$boots[a] - data$failed[a]),
                      c(data$failed[1], data$boots[1] - data$failed[1])))$p.value
  }, 0)

  list(
    comparison = cbind(arm, metric, which, n, exp(test$mean), exp(test$low), exp(test$high), test$sd, test$t, n - 1, p,
                       p_sequential, p_adjusted, test$p_rank, exp(test$shift), exp(test$rank_low), exp(test$rank_high),
                       1 - 2 * psignrank(k - 1, n), test$p_equivalence, expm1(found * test$sd)),
    component = cbind(seq_len(series) - 1, pmax(0, (squares[1, ] - squares[2, ]) / arms),
                      pmax(0, squares[2, ] - squares[3, ] / iterations), squares[3, ], trend),
    summary = cbind(rep(seq_len(arms) - 1, each = series), rep(seq_len(series) - 1, arms), as.vector(boot_mean),
                    as.vector(boot_sd / boot_mean), least, most),
    failure = cbind(treated, fisher))
}

# ---- in and out ----

arguments <- commandArgs(trailingOnly = TRUE)
file <- file(arguments[1], "rb")
size <- readBin(file, "double", 5)
names(size) <- c("arms", "points", "metrics", "blocks", "iterations")
data <- list(size = size, failed = readBin(file, "double", size[["arms"]]),
             boots = readBin(file, "double", size[["arms"]]), values = readBin(file, "double", prod(size)))
close(file)

# Twice: the first time R compiles its functions on the way.
calls <- arguments[3] == "calls"
first <- system.time(result <- analyse(data, calls))
again <- system.time(analyse(data, calls))

lines <- unlist(lapply(names(result), function(name) {
  m <- result[[name]]
  text <- array(ifelse(is.na(m), "-", sprintf("%.17g", m)), dim(m))
  paste(name, apply(text, 1, paste, collapse = " "))
}))
seconds <- function(took) sprintf("%.9f %.9f", took[["elapsed"]], took[["user.self"]] + took[["sys.self"]])
writeLines(c(lines, paste("time", seconds(first), seconds(again))), arguments[2])
